package rules

import (
	"context"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/smi"
)

// RuntimePrograms come with NVIDIA's libraries into every container on the runtime.
func RuntimePrograms() map[string]cri.Program { return programs{"nvidia-smi": nvidiaSMI} }

// nvidiaSMI reads and sets the machine's cards; changing needs a privileged container or CAP_SYS_ADMIN.
func nvidiaSMI(_ context.Context, c *cri.Container) int {
	snapshot := c.Machine.Snapshot()
	driver := smi.Driver{Version: snapshot.DriverVersion, LibraryVersion: snapshot.LibraryVersion, Privileged: mayAdminister(c)}
	return smi.Run(c.Output, c.Argv[1:], driver, c.GPUs, smi.SettingsOf(c.Machine.RootFS()))
}

func mayAdminister(c *cri.Container) bool { return cri.MayAdminister(c.Spec.SecurityContext) }
