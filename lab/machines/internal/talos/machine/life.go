package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
)

// shutdown is why a machine goes down.
type shutdown struct {
	actor string
	// upgrade is the image to install on the way (the old upgrade API does it after it has stopped everything).
	upgrade *factory.Image
	// skipStop: a reboot in mode force doesn't stop the services in order.
	skipStop bool
}

// Run is the machine's life: boots until ctx ends. The first boot takes no time: the machine is up when the lab begins.
func (m *Machine) Run(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		life, end := context.WithCancel(ctx)
		m.powerOn(ctx, end, first)

		sequence := m.bootSequence
		if look(m, func(s *state) bool { return s.unconfigured }) {
			sequence = m.maintenanceSequence
		}

		switch err := sequence(life, first); {
		case err == nil:
			<-life.Done()
		case life.Err() == nil:
			m.fatal(err)
			m.sleep(ctx, 10*time.Second)
		case errors.Is(err, errPaused) && ctx.Err() == nil:
			m.fatal(err) // a paused boot that gives way to a reboot counts as failed (seen on Talos v1.13.0)
		}

		m.powerOff(ctx)
		end()
	}
}

// powerOn starts a boot: firmware, kernel, and then machined with its API.
func (m *Machine) powerOn(ctx context.Context, end context.CancelFunc, first bool) {
	if !first {
		m.sleep(ctx, firmwareTime)
		m.brokenSlot(ctx)
	}

	image := look(m, func(s *state) factory.Image { return s.slots.Boot() })

	for _, volatile := range []string{"run", "dev", "etc", "proc", "sys"} {
		if err := os.RemoveAll(filepath.Join(m.root, volatile)); err != nil {
			m.Event("%v", err)
		}
	}

	id := uuid.NewString()
	api, began := newServer(), m.env.Clock.Now()

	m.update(func(s *state) {
		s.next = nil
		s.active = s.persistent // what was staged takes effect
		s.boot = boot{id: id, host: configuration.HostnameOf(s.active, m.spec.Name), began: began, end: end, stage: runtime.MachineStageBooting, api: api}

		if !first {
			s.reboots++
		}
	})

	if err := m.baseFiles(image, id); err != nil {
		m.Event("%v", err)
	}

	m.update(func(s *state) { s.boot.services = earlyServices() })
	api.start(m)
	m.publishStatus()

	if !first {
		m.Event("booted Talos %s, schematic %s, boot id %s", image.Version, image.SchematicID, id)
		m.sleep(ctx, earlyTime)
	}
}

// brokenSlot is the fault `rollback`: the boot of the new slot fails, and Talos goes back to the old one. (No boot loader does that by itself:
// talos v1.13.0 bootloader/sdboot/sdboot.go and grub/encode.go count no boots.)
func (m *Machine) brokenSlot(ctx context.Context) {
	broken := look(m, func(s *state) string {
		switch {
		case !s.slots.CanRevert():
			return ""
		case m.spec.SecureBoot && !s.slots.Next().SecureBoot:
			// An UKI without a signature that the firmware trusts is not started (UEFI specification, Secure Boot).
			return "the firmware refuses the new image, which is not signed for Secure Boot"
		case s.take("rollback"):
			return "the boot of the new slot failed"
		}

		return ""
	})
	if broken == "" {
		return
	}

	m.Event("%s: reverting to the previous image", broken)
	m.update(func(s *state) { s.slots.Revert(); s.reboots++ })
	m.sleep(ctx, firmwareTime)
}

// baseFiles are the files of an image that somebody reads.
func (m *Machine) baseFiles(image factory.Image, bootID string) error {
	for path, content := range map[string]string{
		"/proc/sys/kernel/random/boot_id": bootID + "\n",
		"/proc/cmdline":                   image.CommandLine() + "\n",
		"/proc/modules":                   "",
		"/proc/version":                   "Linux version (talos@buildkitsandbox) SMP\n",
		"/etc/os-release":                 fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", image.Version, image.Version),
		"/etc/hostname":                   m.Name() + "\n",
	} {
		if err := nvidia.WriteFile(m.root, path, content); err != nil {
			return err
		}
	}

	for _, folder := range []string{"run", "dev", "var"} {
		if err := os.MkdirAll(filepath.Join(m.root, folder), 0o755); err != nil {
			return err
		}
	}

	return nil
}

// powerOff stops what runs, in the order of the sequence that the machine goes down by.
func (m *Machine) powerOff(ctx context.Context) {
	next := look(m, func(s *state) *shutdown { return s.next })
	if next == nil { // a failed boot
		next = &shutdown{skipStop: true}
	}

	name, stage := "reboot", runtime.MachineStageRebooting
	if next.upgrade != nil {
		name, stage = "upgrade", runtime.MachineStageUpgrading
	}

	m.setStage(stage, false)

	if !next.skipStop {
		steps := []func() error{}

		if next.upgrade != nil {
			steps = append(steps, m.phase(next.actor, "drain", "cordonAndDrainNode", func() error { return m.drain(ctx) }))
		}

		steps = append(steps, m.phase(next.actor, "cleanup", "stopAllPods", func() error {
			m.update(func(s *state) { s.boot.kubelet = false; s.boot.complete = false })

			return m.env.Clock.Sleep(ctx, stopTime)
		}))

		if next.upgrade != nil {
			steps = append(steps, m.phase(next.actor, "upgrade", "upgrade", func() error { return m.install(ctx, *next.upgrade, func(string) {}) }))
		}

		steps = append(steps, m.phase(next.actor, "stopEverything", "stopAllServices", func() error {
			m.update(func(s *state) { s.boot.services = nil })

			return nil
		}))

		if err := m.sequence(next.actor, name, steps...); err != nil {
			m.Event("%s sequence failed: %v", name, err)
		}
	}

	m.update(func(s *state) { s.boot.kubelet, s.boot.complete = false, false })

	if api := look(m, func(s *state) *server { return s.boot.api }); api != nil {
		api.stop()
	}

	m.update(func(s *state) { s.boot.api = nil; s.boot.driver = nvidia.Driver{}; s.boot.modules = nil })
}

// drain as the old upgrade sequence does it. Where it fails, the upgrade goes on after the timeout (talos#9882).
func (m *Machine) drain(ctx context.Context) error {
	if m.env.Nodes == nil {
		return nil
	}

	limited, cancel := context.WithTimeout(ctx, m.env.Clock.Real(5*time.Minute))
	defer cancel()

	if err := m.env.Nodes.Drain(limited, m.Name()); err != nil {
		m.Event("drain: %v", err)
	}

	return nil
}

// errPaused is the end of a boot that came to a pause.
var errPaused = errors.New("the boot was paused")

// fatal is the end of a boot whose sequence failed: an unconfirmed upgrade is taken back, also one that was installed in this very boot (seen
// on Talos v1.13.0; talos v1.13.0 internal/app/machined/main.go, handle, and revert.go).
func (m *Machine) fatal(err error) {
	m.Event("boot sequence failed: %v", err)
	m.setStage(runtime.MachineStageRebooting, false)

	if look(m, func(s *state) bool { return s.slots.Revert() }) {
		m.Event("reverting failed upgrade")
	}
}

func (m *Machine) sleep(ctx context.Context, lab time.Duration) {
	_ = m.env.Clock.Sleep(ctx, lab) //nolint:errcheck // the caller's loop sees that ctx has ended
}

// setStage changes the machine's status and tells who follows the events.
func (m *Machine) setStage(stage runtime.MachineStage, ready bool, unmet ...runtime.UnmetCondition) {
	m.update(func(s *state) { s.boot.stage, s.boot.ready, s.boot.unmet = stage, ready, unmet })
	m.publishStatus()
}

func (m *Machine) publishStatus() {
	now := look(m, func(s *state) boot { return s.boot })
	status := &machine.MachineStatusEvent_MachineStatus{Ready: now.ready}

	for _, condition := range now.unmet {
		status.UnmetConditions = append(status.UnmetConditions, &machine.MachineStatusEvent_MachineStatus_UnmetCondition{Name: condition.Name, Reason: condition.Reason})
	}

	// the stages have the same numbers in both (talos v1.13.0 controllers/runtime/machine_status_publisher.go)
	m.publish("", &machine.MachineStatusEvent{Stage: machine.MachineStatusEvent_MachineStage(now.stage), Status: status})
}

// AwaitPower waits until the machine's first boot has come as far as it gets without lab time.
func (m *Machine) AwaitPower(ctx context.Context) error {
	return m.await(ctx, func(s *state) bool { return s.boot.kubelet || s.unconfigured || len(s.boot.unmet) > 0 })
}
