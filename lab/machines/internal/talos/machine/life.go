package machine

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/nvidia"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
)

// shutdown is the reason why a machine goes down.
type shutdown struct {
	// upgrade is the image to install before the reboot. The old upgrade API installs after it has stopped everything.
	upgrade  *factory.Image
	skipStop bool // for a reboot in mode force, which does not stop the services in order
}

// Run boots the machine again and again until ctx ends. The first boot takes no time, because the machine is up when
// the lab starts.
func (m *Machine) Run(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		life, end := context.WithCancel(ctx)
		m.powerOn(ctx, end, first)
		sequence := m.bootSequence
		if m.InMaintenance() {
			sequence = m.maintenanceSequence
		}
		switch err := sequence(life, first); {
		case err == nil:
			<-life.Done()
		case life.Err() == nil:
			m.fatal(err)
			m.sleep(ctx, 10*time.Second)
		case errors.Is(err, errPaused) && ctx.Err() == nil:
			m.fatal(err) // a paused boot that a reboot ends counts as failed (seen on Talos v1.13.0)
		}
		m.powerOff(ctx)
		end()
	}
}

// powerOn starts a boot: firmware, kernel, and then machined with its API.
func (m *Machine) powerOn(ctx context.Context, end context.CancelFunc, first bool) {
	if !first {
		if m.await(ctx, func(s *state) bool { return s.faults["off"] <= 0 }) != nil {
			return // the lab ends
		}
		m.sleep(ctx, firmwareTime)
		m.brokenSlot(ctx)
	}
	for _, volatile := range []string{"run", "etc", "proc"} {
		if err := os.RemoveAll(filepath.Join(m.root, volatile)); err != nil {
			m.Event("%v", err)
		}
	}
	id, api, began := uuid.NewString(), newServer(), m.env.Clock.Now()
	m.update(func(s *state) {
		s.slots.Boot()
		s.next = nil
		s.active = s.persistent // a staged configuration takes effect
	})
	image := m.running()
	for path, content := range map[string]string{
		"/proc/sys/kernel/random/boot_id": id + "\n", "/proc/cmdline": image.CommandLine() + "\n", "/proc/modules": "",
	} {
		if err := nvidia.WriteFile(m.root, path, content); err != nil {
			m.Event("%v", err)
		}
	}
	m.update(func(s *state) { // now the API answers, so the kernel's files must already exist
		s.boot = boot{
			id:       id,
			host:     configuration.HostnameOf(s.active, m.spec.Name),
			began:    began,
			end:      end,
			stage:    runtime.MachineStageBooting,
			api:      api,
			services: earlyServices(),
		}
		if !first {
			s.reboots++
		}
	})
	if !first {
		m.Event("booted Talos %s, schematic %s, boot id %s", image.Version, image.SchematicID, id)
		m.sleep(ctx, earlyTime)
	}
}

// brokenSlot is the fault `rollback`: the boot of the new slot fails, and Talos returns to the old one. No boot loader
// does that by itself (talos v1.13.0 bootloader/sdboot/sdboot.go and grub/encode.go count no boots).
func (m *Machine) brokenSlot(ctx context.Context) {
	if !look(m, func(s *state) bool { return s.slots.Previous != nil && s.take("rollback") }) {
		return
	}
	m.Event("the boot of the new slot failed: reverting to the previous image")
	m.update(func(s *state) { s.slots.Revert(); s.reboots++ })
	m.sleep(ctx, firmwareTime)
}

// powerOff stops the machine's services, in the order of the sequence with which the machine goes down. The old upgrade
// API also drains the node first. That is not emulated, because a stack's program has already drained it.
func (m *Machine) powerOff(ctx context.Context) {
	next := look(m, func(s *state) *shutdown { return s.next })
	if next == nil { // a failed boot
		next = &shutdown{skipStop: true}
	}
	stage := runtime.MachineStageRebooting
	if next.upgrade != nil {
		stage = runtime.MachineStageUpgrading
	}
	m.setStage(stage, false)
	if !next.skipStop {
		m.update(func(s *state) { s.boot.kubelet = false })
		m.sleep(ctx, stopTime)
		if next.upgrade != nil {
			m.install(ctx, *next.upgrade)
		}
	}
	api := look(m, func(s *state) *server { return s.boot.api })
	m.update(func(s *state) {
		s.boot.kubelet, s.boot.services, s.boot.api, s.boot.driver = false, nil, nil, nvidia.Driver{}
	})
	api.stop()
}

// errPaused is the error of a boot that was paused and then ended by a reboot.
var errPaused = errors.New("the boot was paused")

// fatal ends a boot whose sequence failed. It reverts an unconfirmed upgrade, even one that was installed in the same
// boot (seen on Talos v1.13.0; talos v1.13.0 internal/app/machined/main.go, handle, and revert.go).
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

func (m *Machine) setStage(stage runtime.MachineStage, ready bool, unmet ...runtime.UnmetCondition) {
	m.update(func(s *state) { s.boot.stage, s.boot.ready, s.boot.unmet = stage, ready, unmet })
}

// AwaitPower waits until the machine's first boot reaches the point that needs lab time.
func (m *Machine) AwaitPower(ctx context.Context) error {
	return m.await(ctx, func(s *state) bool { return s.boot.kubelet || s.unconfigured || len(s.boot.unmet) > 0 })
}

// Entry is a line of a machine's history.
type Entry struct {
	// At is the time in lab seconds.
	At   float64 `json:"at"`
	What string  `json:"what"`
	// machined is whether Talos writes the entry to machined's log instead of the console.
	machined bool
}

// Event adds an entry to the machine's history, which Talos writes to the console.
func (m *Machine) Event(format string, args ...any) {
	m.record(Entry{At: m.env.Clock.Now(), What: fmt.Sprintf(format, args...)})
}

// imageEvent adds an entry about an installation. From 1.14 on, Talos writes it to machined's log (seen on Talos
// v1.14.1; its console is silent about installations).
func (m *Machine) imageEvent(text string) {
	m.record(Entry{At: m.env.Clock.Now(), What: text, machined: host.Minor(m.running().Version) >= 14})
}

func (m *Machine) record(entry Entry) {
	log.Printf("%s: %s", m.spec.Name, entry.What)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.events = append(m.s.events, entry)
}

// BootLog returns the console of this boot, as lines that begin with lab seconds. Earlier boots are absent, because the
// kernel's ring buffer is in memory.
func (m *Machine) BootLog() (lines []string) {
	for _, entry := range m.thisBoot(false) {
		lines = append(lines, fmt.Sprintf("[%10.3f] [talos] %s\n", entry.At, entry.What))
	}
	return lines
}

// MachinedLog returns machined's log of this boot, which is in memory, too.
func (m *Machine) MachinedLog() (lines []string) {
	for _, entry := range m.thisBoot(true) {
		lines = append(lines, "2026-01-01T00:00:00.000Z \x1b[34mINFO\x1b[0m "+entry.What+"\n")
	}
	return lines
}

func (m *Machine) thisBoot(machined bool) (entries []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, entry := range m.s.events {
		if entry.At >= m.s.boot.began && entry.machined == machined {
			entries = append(entries, entry)
		}
	}
	return entries
}
