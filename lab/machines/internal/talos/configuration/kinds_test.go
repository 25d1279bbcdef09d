package configuration

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The package's table of documents was read from every release's schema.
func TestKindsAreThoseOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../../../../../components/recipe/facts/data/talos-schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Kinds map[string]json.RawMessage // a definition, or a list of [definition, first minor, last minor]
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Kinds) == 0 {
		t.Fatal(err)
	}
	since := map[string]int{}
	for kind, row := range table.Kinds {
		var ranges [][]any
		if json.Unmarshal(row, &ranges) == nil {
			since[kind] = int(ranges[0][1].(float64))
		}
	}
	if !maps.Equal(since, sinceOf) {
		t.Errorf("%v, the table has %v", sinceOf, since)
	}
}

const whole = `version: v1alpha1
machine:
  type: worker
  token: aaaaaa.bbbbbbbbbbbbbbbb
  ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}
  features: {stableHostname: true}
  files: [{path: /var/lib/owner.conf, op: create, content: theirs}]
cluster:
  id: aGVsbG8=
  secret: aGVsbG8=
  controlPlane: {endpoint: "https://10.0.0.1:6443"}
  token: aaaaaa.bbbbbbbbbbbbbbbb
  ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}
`

func document(kind, text string) string {
	return "---\napiVersion: v1alpha1\nkind: " + kind + "\n" + text
}

// Each release must return the error of its loader for a document (seen on Talos v1.13.0 and v1.14.1).
func TestDocumentsByRelease(t *testing.T) {
	const conflict = "stable hostname is already set in v1alpha1 config"
	for _, test := range []struct{ version, documents, problem string }{
		{"v1.14.1", document("SecurityProfileConfig", "workloadIsolation: true\n"), ""},
		{"v1.13.9", document("SecurityProfileConfig", "workloadIsolation: true\n"), `error decoding document v1alpha1/SecurityProfileConfig/ (line 15): "SecurityProfileConfig" "v1alpha1": not registered`},
		{"v1.13.9", document("CRICustomizationConfig", "name: zz\ncontent: ''\n"), `"CRICustomizationConfig" "v1alpha1": not registered`},
		{"v1.11.5", document("ResolverConfig", "nameservers: [{address: 192.0.2.1}]\n"), `"ResolverConfig" "v1alpha1": not registered`},
		{"v1.12.6", document("ResolverConfig", "nameservers: [{address: 192.0.2.1}]\n"), ""},
		{"v1.14.1", document("HostnameConfig", "auto: stable\n"), conflict},
		{"v1.13.9", document("HostnameConfig", "auto: stable\n"), conflict},
		{"v1.14.1", document("UnattendedInstallConfig", "provisioning: {diskSelector: {match: \"disk.dev_path == '/dev/sda'\"}}\n"), ""},
		{"v1.14.1", document("CRICustomizationConfig", "name: customization\ncontent: ''\n"), `name "customization" is reserved for the legacy CRI customization`},
	} {
		_, warnings, err := Load([]byte(whole+test.documents), test.version, Mode{})
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v, want %q", test.version, err, test.problem)
		}
		deprecated := slices.ContainsFunc(warnings, func(warning string) bool { return strings.HasPrefix(warning, ".machine.files is deprecated") })
		if err == nil && deprecated != (test.version == "v1.14.1") {
			t.Errorf("%s: warnings %v", test.version, warnings)
		}
	}
}

// Talos <= 1.13 requires `machine.install`. Since 1.14 a document may replace it, or the configuration may have
// neither.
func TestWhereToInstall(t *testing.T) {
	for version, problem := range map[string]string{"v1.13.9": `install instructions are required in "metal" mode`, "v1.14.1": ""} {
		_, _, err := Load([]byte(whole), version, Mode{ToInstall: true})
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// A release that is newer than the machinery runs newer releases of Kubernetes.
func TestKubernetesOfANewerRelease(t *testing.T) {
	config := strings.Replace(whole, "  features:", "  kubelet: {image: 'ghcr.io/siderolabs/kubelet:v1.38.0'}\n  features:", 1)
	if _, _, err := Load([]byte(config), "v1.15.0", Mode{}); err != nil {
		t.Error(err)
	}
}
