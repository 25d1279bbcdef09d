package lifetest_test

import (
	"regexp"
	"testing"
)

func TestAMachineIsCalledByItsConfiguration(t *testing.T) {
	document := func(text string) []byte {
		return append(configuration(), "\n---\napiVersion: v1alpha1\nkind: HostnameConfig\n"+text+"\n"...)
	}
	for name, test := range map[string]struct {
		config []byte
		called string
	}{
		"the field":               {configuration("  network: {hostname: gpu-1}"), "^gpu-1$"},
		"the document":            {document("auto: \"off\"\nhostname: gpu-1"), "^gpu-1$"},
		"a name that Talos makes": {document("auto: stable"), "^talos-[0-9a-f]{3}-[0-9a-f]{3}$"},
		"nothing says how":        {configuration(), "^talos-[0-9a-f]{3}-[0-9a-f]{3}$"},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, "v1.13.0", false, test.config)
			if got := l.Name(); !regexp.MustCompile(test.called).MatchString(got) {
				t.Errorf("it calls itself %s", got)
			}

			if l.Key() != "w1" {
				t.Errorf("the lab calls it %s", l.Key())
			}
		})
	}
}
