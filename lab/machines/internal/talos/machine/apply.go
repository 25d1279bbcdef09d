package machine

import (
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/release"
)

// errBusy is the answer while the machine installs or goes down.
func (m *Machine) busy() error {
	if look(m, func(s *state) *shutdown { return s.next }) != nil {
		return status.Error(codes.FailedPrecondition, "reboot or upgrade is already in progress")
	}

	if !m.installing.TryLock() {
		return status.Error(codes.FailedPrecondition, "another installation/upgrade is already in progress")
	}

	m.installing.Unlock()

	return nil
}

// Apply is apply-config (talos v1.13.0 internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go,
// ApplyConfiguration; the refusal while busy is 1.13's, and taken for the older releases too).
func (m *Machine) Apply(request *machine.ApplyConfigurationRequest) (*machine.ApplyConfiguration, error) {
	if look(m, func(s *state) bool { return s.unconfigured }) {
		return m.applyFirst(request)
	}

	wanted, err := configuration.Load(request.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	active, version := look(m, func(s *state) config.Provider { return s.active }), look(m, func(s *state) string { return s.slots.Running().Version })

	if err := configuration.Supported(wanted, version); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	reboot := configuration.NeedsReboot(active, wanted)

	mode, details, err := resolveMode(request.GetMode(), reboot, release.Minor(version) >= 14)
	if err != nil {
		return nil, err
	}

	if request.GetDryRun() {
		return dryRun(active, wanted, mode, details)
	}

	if err := m.busy(); err != nil {
		return nil, err
	}

	m.Event("apply config request: mode %s(%s)", request.GetMode(), mode)
	m.carryOut(mode, active, wanted, request)

	if request.GetMode() == machine.ApplyConfigurationRequest_AUTO && mode == machine.ApplyConfigurationRequest_REBOOT { // auto came to reboot: say why
		details += ": " + reboot.Error()
	}

	return &machine.ApplyConfiguration{Mode: mode, ModeDetails: details, Warnings: configuration.Warnings(wanted)}, nil
}

// resolveMode says how a change takes effect. From Talos 1.14 on everything applies live, and there is no mode reboot.
func resolveMode(asked machine.ApplyConfigurationRequest_Mode, needs error, live bool) (machine.ApplyConfigurationRequest_Mode, string, error) {
	if live {
		needs = nil
	}

	switch asked {
	case machine.ApplyConfigurationRequest_STAGED:
		return asked, "Staged configuration to be applied after the next reboot", nil
	case machine.ApplyConfigurationRequest_TRY, machine.ApplyConfigurationRequest_NO_REBOOT:
		if needs != nil {
			return asked, "", status.Error(codes.InvalidArgument, needs.Error())
		}

		return asked, "Applied configuration without a reboot", nil
	case machine.ApplyConfigurationRequest_REBOOT:
		if live {
			return asked, "", status.Error(codes.Unimplemented, "reboot mode is not supported")
		}

		return asked, "Applied configuration with a reboot", nil
	case machine.ApplyConfigurationRequest_AUTO:
		if needs != nil {
			return machine.ApplyConfigurationRequest_REBOOT, "Applied configuration with a reboot", nil
		}

		return machine.ApplyConfigurationRequest_NO_REBOOT, "Applied configuration without a reboot", nil
	}

	return asked, "", fmt.Errorf("incorrect mode '%s' specified for the apply config call", asked)
}

func dryRun(active, wanted config.Provider, mode machine.ApplyConfigurationRequest_Mode, details string) (*machine.ApplyConfiguration, error) {
	diff, err := configdiff.DiffConfigs(active, wanted)
	if err != nil {
		return nil, fmt.Errorf("failed to generate diff: %w", err)
	}

	if diff == "" {
		diff = "No changes."
	}

	return &machine.ApplyConfiguration{
		Mode:        mode,
		ModeDetails: fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\nConfig diff:\n\n%s", details, diff),
	}, nil
}

func (m *Machine) carryOut(mode machine.ApplyConfigurationRequest_Mode, active, wanted config.Provider, request *machine.ApplyConfigurationRequest) {
	persist := mode != machine.ApplyConfigurationRequest_TRY
	activate := mode == machine.ApplyConfigurationRequest_TRY || mode == machine.ApplyConfigurationRequest_NO_REBOOT

	m.update(func(s *state) {
		if persist {
			s.persistent, s.boot.applied = wanted, true
		}

		if activate {
			s.active = wanted
		}
	})

	if activate {
		m.applyLive()
	}

	switch mode {
	case machine.ApplyConfigurationRequest_REBOOT:
		m.goDown(&shutdown{}) //nolint:errcheck // busy was asked
	case machine.ApplyConfigurationRequest_TRY:
		timeout := time.Minute
		if request.GetTryModeTimeout() != nil {
			timeout = request.GetTryModeTimeout().AsDuration()
		}

		time.AfterFunc(m.env.Clock.Real(timeout), func() { m.rollBackTry(wanted, active) })
	}
}

// rollBackTry takes back a configuration that was applied on trial, unless another one has come since.
func (m *Machine) rollBackTry(tried, before config.Provider) {
	if look(m, func(s *state) bool { return s.active == tried && s.persistent != tried }) {
		m.Event("rolling back the configuration")
		m.update(func(s *state) { s.active = before })
		m.applyLive()
	}
}
