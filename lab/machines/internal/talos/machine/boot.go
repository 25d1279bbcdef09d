package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/containerd"
	"talos-gpu/lab/machines/internal/talos/userfiles"
)

// Durations of a machine's steps, in lab time. They are typical of a server with a fast disk and network. The lab needs
// only that each step takes some time.
const (
	pullTime      = 90 * time.Second
	pullTimeout   = 20 * time.Minute // talos v1.13.0 internal/pkg/containers/image/image.go, PullTimeout
	pullAgainTime = 15 * time.Second
	installTime   = 60 * time.Second
	stopTime      = 30 * time.Second // pods and services stop
	firmwareTime  = 80 * time.Second // API unreachable: shutdown, firmware, kernel
	earlyTime     = 10 * time.Second // machined and apid are up
	servicesTime  = 30 * time.Second // cri, kubelet, etcd, extension services
	partsTime     = 20 * time.Second // from a changed image to Kubernetes' parts that run it
	kubeletTime   = 12 * time.Second // from one start of a failing kubelet to the next
	readyTime     = 20 * time.Second // from running to ready: some 40 s on Talos v1.13.0 under emulation
)

// kubeletFailures is the number of times that the lab reports a kubelet's failure. Talos reports it without a limit.
const kubeletFailures = 10

// bootTimeout is the time that services have to come up (talos v1.13.0 constants.BootTimeout).
const bootTimeout = 70 * time.Minute

// failurePause is how long a boot with a failed userSetup waits for a corrected configuration. The message of every
// release says 35 minutes (constants.FailurePauseTimeout). Releases before v1.12.9 and v1.13.0 to v1.13.4 wait 5
// minutes (talos v1alpha1_sequencer_tasks.go, pauseOnFailure, at each tag; seen on Talos v1.13.0).
func failurePause(version string) time.Duration {
	minor, patch := host.Release(version)
	if minor < 12 || minor == 12 && patch < 9 || minor == 13 && patch < 5 {
		return 5 * time.Minute
	}
	return 35 * time.Minute
}

// bootSequence is Talos' boot sequence, with only the phases that the lab needs (talos v1.13.0
// internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer.go, Boot).
func (m *Machine) bootSequence(ctx context.Context, first bool) error {
	m.applyLive() // in Talos, controllers do this parallel to the sequence: modules, sysctls, node labels
	if err := m.userSetup(ctx); err != nil {
		return err
	}
	if err := m.startServices(ctx, first); err != nil {
		return err
	}
	if !first {
		m.setStage(runtime.MachineStageRunning, false, runtime.UnmetCondition{Name: "nodeReady", Reason: "node is not ready"})
		if err := m.env.Clock.Sleep(ctx, readyTime); err != nil {
			return nil //nolint:nilerr // the machine goes down after a complete boot
		}
	}
	// The upgrade is confirmed only now (seen on Talos v1.13.0: META tag 6 existed until the machine was running and
	// ready).
	m.update(func(s *state) { s.slots.Confirm() })
	m.setStage(runtime.MachineStageRunning, true)
	return nil
}

// userSetup writes machine.files. A failure pauses the boot before anything else starts. The API is up, so a corrected
// configuration can be applied, which reboots the machine (seen on Talos v1.13.0; v1alpha1_sequencer_tasks.go,
// pauseOnFailure).
func (m *Machine) userSetup(ctx context.Context) error {
	err := m.writeUserFiles(m.active())
	if err == nil {
		return nil
	}
	m.Event("task writeUserFiles (1/1): writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues, error:")
	// Each line is a line of the console (seen on Talos v1.13.0).
	for line := range strings.Lines(strings.TrimSpace(err.Error())) {
		m.Event("%s", strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\n"))
	}
	m.setStage(runtime.MachineStageBooting, false, runtime.UnmetCondition{Name: "services", Reason: "kubelet not running"})
	if m.env.Clock.Sleep(ctx, failurePause(m.running().Version)) != nil { // a reboot ends the pause
		return fmt.Errorf("%w: task writeUserFiles: failed, %w", errPaused, err)
	}
	return fmt.Errorf("error running phase in boot sequence: task writeUserFiles: failed, %w", err)
}

// writeUserFiles writes machine.files and renders containerd's configuration. Since Talos 1.14 a controller merges that
// configuration, and no boot waits for it.
func (m *Machine) writeUserFiles(active config.Provider) error {
	files, err := configuration.UserFiles(active)
	if err != nil {
		return err
	}
	if m.mergesInMemory() {
		m.mergeCRI(active)
		return userfiles.Write(m.root, userfiles.WithoutCustomization(files), nil)
	}
	parts := m.criParts()
	if err := m.renderCRI(parts); err != nil {
		return err
	}
	return userfiles.Write(m.root, files, func(content string) error {
		parts[containerd.CustomizationPart] = content
		// The file itself can be read at its path (talos v1.12.6 controllers/files/etcfile.go).
		return errors.Join(nvidia.WriteFile(m.root, containerd.CustomizationPath, content), m.renderCRI(parts))
	})
}

// criParts returns the parts of the running image and its extensions.
func (m *Machine) criParts() map[string]string {
	image := m.running()
	parts := map[string]string{"00-base.part": containerd.BasePart(host.Minor(image.Version))}
	for _, extension := range image.Extensions {
		if strings.HasPrefix(extension.Name, "nvidia-container-toolkit-") && host.InjectionOf(image.Version) != host.InjectionNRI {
			parts["10-nvidia-container-runtime.part"] = containerd.NvidiaPart
		}
	}
	return parts
}

// mergesInMemory reports whether the running release has no file for the customization.
func (m *Machine) mergesInMemory() bool {
	return host.Minor(m.running().Version) >= containerd.InMemoryFrom
}

// mergeCRI is the controller of Talos >= 1.14. It uses the first item of the customization's path and the documents, by
// name. It runs at boot and after every change of the configuration (talos v1.14.1 controllers/files/cri_config.go and
// pkg/machinery/config/types/v1alpha1/v1alpha1_cri_bridge.go; seen on Talos v1.14.1). If parts cannot be merged, the
// existing configuration stays.
func (m *Machine) mergeCRI(active config.Provider) {
	parts := m.criParts()
	for _, customization := range active.CRICustomizationConfigs() {
		parts[containerd.InMemoryPart(customization.Name())] = customization.Content()
	}
	if err := m.renderCRI(parts); err != nil {
		m.Event("controller failed: files.CRIConfigController: %v", err)
	}
}

// cri is containerd's configuration that is in effect.
type cri struct {
	parts     map[string]string
	effective containerd.Effective
	problem   error // why containerd does not serve pods
	merged    string
	// waits says that containerd waits for a service of workload isolation. A configuration with isolation restarted
	// containerd in a boot that began without isolation.
	waits bool
}

// renderCRI merges the parts. If they cannot be merged, the previous configuration stays.
func (m *Machine) renderCRI(parts map[string]string) error {
	merged, err := containerd.Merge(parts, host.Minor(m.running().Version))
	if err != nil {
		return err
	}
	rendered := cri{parts: map[string]string{}, merged: merged}
	for name, content := range parts {
		rendered.parts[name] = content
	}
	rendered.effective, rendered.problem = containerd.Read(merged)
	m.update(func(s *state) {
		// A changed configuration restarts containerd (talos v1.14.1 controllers/cri/service.go; services/cri.go,
		// DependsOn). A boot that began without isolation does not have the service for which containerd then waits.
		restarts := s.boot.kubelet && merged != s.boot.cri.merged
		if rendered.waits = s.boot.cri.waits || restarts && configuration.Isolates(s.active) && !s.boot.isolated; rendered.waits {
			rendered.effective, rendered.problem = s.boot.cri.effective, s.boot.cri.problem
		}
		s.boot.cri = rendered
	})
	return nvidia.WriteFile(m.root, containerd.ConfigPath, merged)
}

// startServices starts the machine's services and waits until all of them are up. If an NVIDIA service waits for a
// module that nothing loads, the boot does not end. After 70 minutes the machine reboots (talos#14373).
func (m *Machine) startServices(ctx context.Context, first bool) error {
	if problem := look(m, func(s *state) error { return s.boot.cri.problem }); problem != nil {
		m.Event("containerd: %v", problem)
		m.setStage(runtime.MachineStageBooting, false)
		go m.failKubelet(ctx)
	} else {
		if !first {
			if err := m.env.Clock.Sleep(ctx, servicesTime); err != nil {
				return err
			}
		}
		m.update(func(s *state) {
			s.boot.kubelet, s.boot.isolated, s.boot.parts = true, configuration.Isolates(s.active), s.active
			s.boot.services = m.services(s, true)
		})
		m.setStage(runtime.MachineStageBooting, true)
	}
	go m.joinEtcd(ctx)
	limited, cancel := context.WithTimeout(ctx, m.env.Clock.Real(bootTimeout))
	defer cancel()
	err := m.await(limited, func(s *state) bool { return s.boot.kubelet && len(notUp(s.boot.services)) == 0 })
	if err != nil && ctx.Err() == nil {
		waiting := look(m, func(s *state) []string { return notUp(s.boot.services) })
		return fmt.Errorf("error running phase in boot sequence: task startAllServices: failed, not up within %s: %v", bootTimeout, waiting)
	}
	return err
}

// failKubelet reports a limited number of failed starts of the kubelet.
func (m *Machine) failKubelet(ctx context.Context) {
	for range kubeletFailures {
		if m.env.Clock.Sleep(ctx, kubeletTime) != nil {
			return
		}
		m.Event("service[kubelet](Waiting): %s", kubeletFails)
		m.update(func(s *state) { s.boot.services = m.services(s, false) })
	}
}

// applyLive does what the controllers do after every change of the active configuration. It applies sysctls and
// modules, and since Talos 1.14 containerd's configuration. It loads modules but never unloads them (talos v1.13.0
// controllers/runtime/kernel_module_spec.go).
func (m *Machine) applyLive() {
	active, before := m.active(), look(m, func(s *state) boot { return s.boot })
	declared := append(configuration.KernelModules(active), before.driver.Modules...)
	driver := nvidia.Load(m.running().Extensions, declared, m.spec.GPUs)
	if len(driver.Modules) != len(before.driver.Modules) || before.sysctls == nil {
		for _, message := range driver.Messages {
			m.Event("kernel: %s", message)
		}
		if err := nvidia.WriteFiles(m.root, driver, m.spec.GPUs); err != nil {
			m.Event("%v", err)
		}
	}
	if before.kubelet && m.mergesInMemory() {
		m.mergeCRI(active)
	}
	m.update(func(s *state) {
		s.boot.driver, s.boot.sysctls = driver, map[string]string{}
		maps.Copy(s.boot.sysctls, active.SysctlConfig()) // documents override machine.sysctls
		if s.boot.kubelet {
			s.boot.services = m.services(s, s.boot.cri.problem == nil)
		}
	})
	go m.restartParts(look(m, func(s *state) string { return s.boot.id }))
}

// restartParts restarts Kubernetes' parts with the images of the active configuration. The kubelet restarts, and
// replaces the static pods whose manifests changed.
func (m *Machine) restartParts(boot string) {
	if m.env.Clock.Sleep(context.Background(), partsTime) != nil {
		return
	}
	m.update(func(s *state) {
		if s.boot.id == boot && s.boot.kubelet {
			s.boot.parts = s.active
		}
	})
}
