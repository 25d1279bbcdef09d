package deviceplugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// The init container has written the file when the sidecar starts, beside the container that reads it.
func TestConfigManagerLeavesAFileAlone(t *testing.T) {
	folder := t.TempDir()
	source, target := filepath.Join(folder, "source"), filepath.Join(folder, "config", "config.yaml")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	say := func(content string) string {
		if err := os.WriteFile(filepath.Join(source, "default"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		log := &strings.Builder{}
		c := &cri.Container{Output: log, Paths: cri.PathsOf(map[string]string{"/source": source, "/config": filepath.Dir(target)}),
			Env: map[string]string{"CONFIG_FILE_SRCDIR": "/source", "CONFIG_FILE_DST": "/config/config.yaml", "DEFAULT_CONFIG": "default", "ONESHOT": "true"}}
		if code := ManageConfig(context.Background(), c); code != 0 {
			t.Fatalf("ended with %d: %s", code, log)
		}
		return log.String()
	}
	stat := func() os.FileInfo {
		info, err := os.Stat(target)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	say("a")
	first := stat()
	if log := say("a"); !os.SameFile(first, stat()) || !stat().ModTime().Equal(first.ModTime()) || !strings.Contains(log, "Already configured") {
		t.Errorf("the same content was written again: %s", log)
	}
	if say("b"); os.SameFile(first, stat()) {
		t.Error("other content was written over what somebody may be reading")
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "b" {
		t.Errorf("%q, %v", content, err)
	}
}
