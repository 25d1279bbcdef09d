package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdapt(t *testing.T) {
	const given = `{"ociVersion":"1.2.0","hooks":{"createContainer":[{"path":"/first"}]},"linux":{"seccomp":{"defaultAction":"SCMP_ACT_ERRNO"},"namespaces":[{"type":"pid"}]}}`
	for standIn, hooks := range map[bool]string{
		false: `"createContainer":[{"path":"/first"}]`,
		true:  `"createContainer":[{"path":"/first"},{"path":"/usr/bin/runc","args":["real-node-proc"]}]`,
	} {
		bundle := t.TempDir()
		file := filepath.Join(bundle, "config.json")
		if err := os.WriteFile(file, []byte(given), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := adapt(bundleOf([]string{"runc", "--log", "x", "create", "--bundle", bundle, "id"}), standIn); err != nil {
			t.Fatal(err)
		}
		read, err := os.ReadFile(file)
		text := string(read)
		if err != nil || strings.Contains(text, "seccomp") || !strings.Contains(text, `"type":"pid"`) || !strings.Contains(text, "1.2.0") || !strings.Contains(text, hooks) {
			t.Errorf("%s, %v", text, err)
		}
	}
	if got := bundleOf([]string{"runc", "run", "--bundle=/b", "id"}); got != "/b" {
		t.Error(got)
	}
}

func TestTheKernelsOwnProcIsNoStandIn(t *testing.T) {
	if standsIn("/proc") || !standsIn(t.TempDir()) {
		t.Error("/proc is the kernel's, and another folder is not")
	}
}
