//go:build linux

package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDropSeccomp(t *testing.T) {
	bundle := t.TempDir()
	file := filepath.Join(bundle, "config.json")
	if err := os.WriteFile(file, []byte(`{"ociVersion":"1.2.0","linux":{"seccomp":{"defaultAction":"SCMP_ACT_ERRNO"},"namespaces":[{"type":"pid"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dropSeccomp(bundleOf([]string{"runc", "--log", "x", "create", "--bundle", bundle, "id"})); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "seccomp") || !strings.Contains(string(text), `"type":"pid"`) || !strings.Contains(string(text), "1.2.0") {
		t.Errorf("%s, %v", text, err)
	}
	if got := bundleOf([]string{"runc", "run", "--bundle=/b", "id"}); got != "/b" {
		t.Error(got)
	}
}
