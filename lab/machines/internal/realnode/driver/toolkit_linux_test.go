package driver

import (
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/realnode/boot"
)

func TestANodeRunsItsImagesToolkitOrTheNearest(t *testing.T) {
	for release, want := range map[string]struct{ folder, stead string }{
		"1.17.8": {"nvidia-toolkit-v1.18", "1.18.2"},
		"1.18.1": {"nvidia-toolkit-v1.18", "1.18.2"},
		"1.18.2": {"nvidia-toolkit-v1.18", ""},
		"1.19.0": {"nvidia-toolkit-v1.19", "1.19.1"},
		"1.19.1": {"nvidia-toolkit-v1.19", ""},
		"1.20.0": {"nvidia-toolkit-v1.19", "1.19.1"},
		"":       {"nvidia-toolkit-v1.19", "1.19.1"},
	} {
		if folder := toolkitFor(release).folder; folder != want.folder {
			t.Errorf("%q: %s, want %s", release, folder, want.folder)
		}
		extension := host.Extension{Name: "nvidia-container-toolkit-production", Version: "570.211.01-v" + release}
		spec := &boot.Spec{Snapshot: host.Snapshot{LibraryVersion: "570.211.01", Extensions: []host.Extension{extension}}}
		if stead := InStead(spec); stead != want.stead {
			t.Errorf("%q: replaced by %q, want %q", release, stead, want.stead)
		}
	}
	if stead := InStead(&boot.Spec{}); stead != "" {
		t.Errorf("an image without a toolkit: replaced by %q", stead)
	}
}
