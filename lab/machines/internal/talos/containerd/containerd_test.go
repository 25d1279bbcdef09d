package containerd_test

import (
	"slices"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/talos/containerd"
)

func TestParts(t *testing.T) {
	const runtime = "[plugins.'io.containerd.cri.v1.runtime'"
	for _, test := range []struct {
		name, customization string
		nvidia              bool
		merged              string // a part of the configuration, or of the error
		runtimes            string // "" if an error is expected
		standard            string
	}{
		{"the last scalar wins, the base part's table is merged into", runtime + ".containerd]\ndefault_runtime_name = 'nvidia'\n", true, "base-spec.json", "nvidia runc", "nvidia"},
		{"arrays are concatenated", runtime + "]\ncdi_spec_dirs = ['/var/cdi/static']\n", true, "cdi_spec_dirs = ['/run/cdi', '/var/cdi/static']", "nvidia runc", "runc"},
		{"another version hides everything", "version = 2\n", true, "", "runc", "runc"},
		{"another type", "[plugins]\n'io.containerd.cri.v1.runtime' = 'x'\n", true, "20-customization.part", "", ""},
		{"a default runtime that is not there", runtime + ".containerd]\ndefault_runtime_name = 'nvidia'\n", false, "no corresponding runtime configured", "", ""},
	} {
		parts := map[string]string{"00-base.part": containerd.BasePart(13), "20-customization.part": test.customization}
		if test.nvidia {
			parts["10-nvidia-container-runtime.part"] = containerd.NvidiaPart
		}
		text, err := containerd.Merge(parts, 13)
		effective := containerd.Effective{}
		if err == nil {
			effective, err = containerd.Read(text)
		}
		if err != nil {
			text = err.Error()
		}
		isRight := (err == nil) == (test.runtimes != "") && strings.Contains(text, test.merged)
		if err == nil {
			isRight = isRight && effective.Default == test.standard &&
				slices.Equal(effective.Runtimes, strings.Fields(test.runtimes))
		}
		if !isRight {
			t.Errorf("%s: %+v\n%s", test.name, effective, text)
		}
	}
}

// TestOrderOfCustomizations checks that the alphabetically last name wins (seen on Talos v1.14.1).
func TestOrderOfCustomizations(t *testing.T) {
	byDefault := func(runtime string) string {
		return "[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = '" + runtime + "'\n"
	}
	for name, want := range map[string]string{"zz": "default_runtime_name = 'runc'", "aa": "default_runtime_name = 'nvidia'"} {
		parts := map[string]string{
			"00-base.part":                containerd.BasePart(14),
			containerd.CustomizationPart:  byDefault("nvidia"),
			containerd.InMemoryPart(name): byDefault("runc"),
		}
		text, err := containerd.Merge(parts, 14)
		if err != nil || !strings.Contains(text, want) || !strings.Contains(text, `## in-memory customization "`+name+`" (sha256:`) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestHead checks the lines from which a client learns what the machine's configuration set (talos v1.13.0 and v1.14.1
// internal/pkg/toml/merge.go).
func TestHead(t *testing.T) {
	parts := map[string]string{"00-base.part": containerd.BasePart(14), "20-customization.part": "[debug]\nlevel = 'info'\n"}
	for minor, heads := range map[int][]string{
		13: {"## /etc/cri/conf.d/00-base.part (sha256:", "## /etc/cri/conf.d/20-customization.part (sha256:"},
		14: {"## file /etc/cri/conf.d/00-base.part (sha256:", "## in-memory customization \"customization\" (sha256:"},
	} {
		text, err := containerd.Merge(parts, minor)
		for _, head := range heads {
			if err != nil || !strings.Contains(text, head) {
				t.Errorf("%d: %v\n%s", minor, err, text)
			}
		}
	}
}
