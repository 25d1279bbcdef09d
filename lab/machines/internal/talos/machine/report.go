package machine

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Report is what the control endpoint shows of a machine.
type Report struct {
	Address       string   `json:"address"`
	TalosVersion  string   `json:"talosVersion"`
	SchematicID   string   `json:"schematicId"`
	DriverVersion *string  `json:"driverVersion"`
	Reboots       int      `json:"reboots"`
	Upgrades      int      `json:"upgrades"`
	Requests      int      `json:"requests"`
	Stage         string   `json:"stage"`
	Ready         bool     `json:"ready"`
	BootID        string   `json:"bootId"`
	Modules       []string `json:"modules"`
	Events        []Entry  `json:"events"`
	LabSeconds    float64  `json:"labSeconds"`
}

// Report the machine's state.
func (m *Machine) Report() Report {
	m.mu.Lock()
	defer m.mu.Unlock()

	image, now := m.s.slots.Running(), m.s.boot
	report := Report{
		Address: m.spec.Address, TalosVersion: image.Version, SchematicID: image.SchematicID,
		Reboots: m.s.reboots, Upgrades: m.s.upgrades, Requests: m.s.requests,
		Stage: now.stage.String(), Ready: now.ready, BootID: now.id,
		Modules: append([]string{}, now.modules...), Events: append([]Entry{}, m.s.events...),
		LabSeconds: m.env.Clock.Now(),
	}

	if now.driver.Up {
		report.DriverVersion = &now.driver.ModuleVersion
	}

	return report
}

// ResetRequests sets the count of API calls to zero.
func (m *Machine) ResetRequests() {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.s.requests = 0
}

// Faults that a machine can be given.
var Faults = []string{
	"rollback",        // the boot of the next upgraded slot fails: the machine comes up with the old image
	"refuse",          // API calls are refused: unavailable
	"drop-connection", // API calls are carried out, and the connection is lost before the answer
	"hang",            // API calls are never answered
	"pull-error",      // image pulls fail
	"install-error",   // the installer fails
}

// Fault gives the machine a fault for a number of times.
func (m *Machine) Fault(kind string, times int) error {
	if !slices.Contains(Faults, kind) {
		return fmt.Errorf("kind: %q is no fault; take one of %v", kind, Faults)
	}

	m.Event("fault %s, %d times", kind, times)

	m.mu.Lock()
	defer m.mu.Unlock()

	m.s.faults[kind] = times

	return nil
}

// take uses a fault up once.
func (s *state) take(kind string) bool {
	if s.faults[kind] <= 0 {
		return false
	}

	s.faults[kind]--

	return true
}

// Called counts an API call and lets the faults of the connection happen. True: the answer is to be lost.
func (m *Machine) Called(ctx context.Context) (bool, error) {
	m.mu.Lock()
	m.s.requests++
	refuse, hang := m.s.take("refuse"), m.s.take("hang")
	drop := m.s.take("drop-connection")
	m.mu.Unlock()

	switch {
	case refuse:
		return false, status.Errorf(codes.Unavailable, "dial tcp %s:50000: connect: connection refused", m.spec.Address)
	case hang:
		<-ctx.Done()

		return false, ctx.Err()
	}

	return drop, nil
}
