package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/userfiles"
)

// bootSequence is Talos' boot sequence, of the phases that matter here (talos v1.13.0
// internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer.go, Boot).
func (m *Machine) bootSequence(ctx context.Context, first bool) error {
	m.applyLive() // controllers run beside the sequence: modules, sysctls, node labels

	err := m.sequence("", "boot",
		m.phase("", "userSetup", "writeUserFiles", func() error { return m.userSetup(ctx) }),
		m.phase("", "startEverything", "startAllServices", func() error { return m.startServices(ctx, first) }),
	)
	if err != nil {
		return err
	}

	m.update(func(s *state) { s.boot.complete = true })

	if !first {
		m.setStage(runtime.MachineStageRunning, false, runtime.UnmetCondition{Name: "nodeReady", Reason: "node is not ready"})
		m.uncordon(ctx)

		if err := m.env.Clock.Sleep(ctx, readyTime); err != nil {
			return nil //nolint:nilerr // the machine goes down, and its boot was over
		}
	}

	// Confirmed only now (seen on Talos v1.13.0: META tag 6 was there until the machine was running and ready).
	m.update(func(s *state) { s.slots.Confirm() })
	m.setStage(runtime.MachineStageRunning, true)

	return nil
}

// userSetup writes machine.files. A failure pauses the boot: the API is up, so that a corrected configuration can be
// applied, which reboots; nothing else has started (talos v1.13.0 v1alpha1_sequencer_tasks.go, pauseOnFailure).
func (m *Machine) userSetup(ctx context.Context) error {
	active, version := look(m, func(s *state) config.Provider { return s.active }), look(m, func(s *state) string { return s.slots.Running().Version })

	err := m.writeUserFiles(active)
	if err == nil {
		return nil
	}

	m.Event("writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues, error:")

	for line := range strings.Lines(strings.TrimSpace(err.Error())) { // each is a line of the console (seen on Talos v1.13.0)
		m.Event("%s", strings.TrimRight(strings.ReplaceAll(line, "\t", " "), "\n"))
	}

	m.setStage(runtime.MachineStageBooting, false, runtime.UnmetCondition{Name: "services", Reason: "kubelet not running"})

	if m.env.Clock.Sleep(ctx, failurePause(version)) != nil { // it gives way
		return fmt.Errorf("%w: task writeUserFiles: failed, %w", errPaused, err)
	}

	return fmt.Errorf("error running phase in boot sequence: task writeUserFiles: failed, %w", err)
}

func (m *Machine) writeUserFiles(active config.Provider) error {
	parts := m.imageParts()

	files, err := configuration.UserFiles(active)
	if err != nil {
		return err
	}

	if err := m.renderCRI(parts); err != nil {
		return err
	}

	return userfiles.Write(m.root, files, func(content string) error {
		parts["20-customization.part"] = content

		// The file itself, as it can be read there (talos v1.12.6 controllers/files/etcfile.go).
		if err := nvidia.WriteFile(m.root, "/etc/cri/conf.d/20-customization.part", content); err != nil {
			return err
		}

		return m.renderCRI(parts)
	})
}

// startServices starts what a machine runs, and waits until all of it is up: an NVIDIA service that waits for a module
// that nobody loads keeps the boot from ending, and after 70 minutes the machine reboots (talos#14373).
func (m *Machine) startServices(ctx context.Context, first bool) error {
	if problem := look(m, func(s *state) error { return s.boot.cri.problem }); problem != nil {
		m.Event("service cri failed: containerd: %v", problem)
		m.update(func(s *state) { s.boot.services = m.services(s, false) })
		m.setStage(runtime.MachineStageBooting, false, runtime.UnmetCondition{Name: "services", Reason: "cri not running, kubelet not running"})
	} else {
		if !first {
			if err := m.env.Clock.Sleep(ctx, servicesTime); err != nil {
				return err
			}
		}

		m.update(func(s *state) { s.boot.kubelet = true; s.boot.services = m.services(s, true) })
		m.setStage(runtime.MachineStageBooting, true)
	}

	go m.joinEtcd(ctx)

	limited, cancel := context.WithTimeout(ctx, m.env.Clock.Real(bootTimeout))
	defer cancel()

	err := m.await(limited, func(s *state) bool { return s.boot.kubelet && len(notUp(s.boot.services)) == 0 })
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		waiting := look(m, func(s *state) []string { return notUp(s.boot.services) })

		return fmt.Errorf("error running phase in boot sequence: task startAllServices: failed, not up within %s: %v", bootTimeout, waiting)
	}

	return err
}

// applyLive does what the controllers do whenever the active configuration changes: sysctls and modules. A module is
// loaded, never unloaded (talos v1.13.0 controllers/runtime/kernel_module_spec.go).
func (m *Machine) applyLive() {
	active, image, before := look(m, func(s *state) config.Provider { return s.active }),
		look(m, func(s *state) factory.Image { return s.slots.Running() }),
		look(m, func(s *state) boot { return s.boot })

	declared := append(configuration.KernelModules(active), before.driver.Modules...)
	driver := nvidia.Load(image.Extensions, declared, m.spec.GPUs)

	if len(driver.Modules) != len(before.driver.Modules) || before.sysctls == nil {
		for _, message := range driver.Messages {
			m.Event("kernel: %s", message)
		}

		if err := nvidia.WriteFiles(m.root, driver, m.spec.GPUs); err != nil {
			m.Event("%v", err)
		}
	}

	m.update(func(s *state) {
		s.boot.driver = driver
		s.boot.modules = driver.Modules
		s.boot.sysctls = active.Machine().Sysctls()

		if s.boot.sysctls == nil {
			s.boot.sysctls = map[string]string{}
		}

		if s.boot.kubelet {
			s.boot.services = m.services(s, true)
		}
	})

	for key, value := range active.Machine().Sysctls() {
		if err := nvidia.WriteFile(m.root, "/proc/sys/"+sysctlPath(key), value+"\n"); err != nil {
			m.Event("%v", err)
		}
	}
}

// uncordon after a boot, where Talos itself had cordoned (talos v1.13.0 controllers/k8s/node_cordoned_spec.go).
func (m *Machine) uncordon(ctx context.Context) {
	if m.env.Nodes == nil {
		return
	}

	go func() {
		limited, cancel := context.WithTimeout(ctx, m.env.Clock.Real(5*time.Minute))
		defer cancel()

		if err := m.env.Nodes.Uncordon(limited, m.Name()); err != nil && ctx.Err() == nil {
			m.Event("uncordon: %v", err)
		}
	}()
}
