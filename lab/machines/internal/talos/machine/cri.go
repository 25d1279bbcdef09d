package machine

import (
	"maps"
	"strings"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/containerd"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/release"
)

// cri is containerd's configuration as it took effect.
type cri struct {
	parts     map[string]string
	config    string
	effective containerd.Effective
	// problem is why containerd refuses to start.
	problem error
}

// imageParts are the parts that an image and its extensions bring.
func (m *Machine) imageParts() map[string]string {
	image := look(m, func(s *state) factory.Image { return s.slots.Running() })
	parts := map[string]string{"00-base.part": containerd.BasePart(release.Era(image.Version) == host.EraCDI)}

	for _, extension := range image.Extensions {
		if strings.HasPrefix(extension.Name, "nvidia-container-toolkit-") {
			parts["10-nvidia-container-runtime.part"] = containerd.NvidiaPart
		}
	}

	return parts
}

// renderCRI merges the parts. When they can't be merged, what was rendered before stays.
func (m *Machine) renderCRI(parts map[string]string) error {
	config, err := containerd.Merge(parts)
	if err != nil {
		return err
	}

	effective, problem := containerd.Read(config)
	rendered := cri{parts: maps.Clone(parts), config: config, effective: effective, problem: problem}

	for name, content := range parts {
		if err := nvidia.WriteFile(m.root, containerd.Folder+"/"+name, content); err != nil {
			return err
		}
	}

	if err := nvidia.WriteFile(m.root, containerd.ConfigPath, config); err != nil {
		return err
	}

	m.update(func(s *state) { s.boot.cri = rendered })

	return nil
}
