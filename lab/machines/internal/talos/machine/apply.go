package machine

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/configuration"
)

// busy is the answer while the machine installs or goes down.
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
	if m.InMaintenance() {
		return m.applyFirst(request)
	}
	wanted, warnings, err := configuration.Load(request.GetData(), configuration.Mode{})
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	active := m.active()
	reboot := configuration.NeedsReboot(active, wanted)
	mode, details, err := resolveMode(request.GetMode(), reboot, host.Minor(m.running().Version) >= 14)
	if err != nil {
		return nil, err
	}
	if request.GetDryRun() {
		diff, err := configdiff.DiffConfigs(active, wanted)
		if err != nil {
			return nil, fmt.Errorf("failed to generate diff: %w", err)
		}
		if diff == "" {
			diff = "No changes."
		}
		return &machine.ApplyConfiguration{Mode: mode, ModeDetails: fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\nConfig diff:\n\n%s", details, diff)}, nil
	}
	if err := m.busy(); err != nil {
		return nil, err
	}
	m.Event("apply config request: mode %s(%s)", request.GetMode(), mode)
	live := mode == machine.ApplyConfigurationRequest_NO_REBOOT
	m.update(func(s *state) {
		if s.persistent, s.boot.applied = wanted, true; live {
			s.active = wanted
		}
	})
	if live {
		m.applyLive()
	}
	if mode == machine.ApplyConfigurationRequest_REBOOT {
		m.goDown(&shutdown{}) //nolint:errcheck // busy was asked
		if request.GetMode() == machine.ApplyConfigurationRequest_AUTO {
			details += ": " + reboot.Error() // auto came to reboot: say why
		}
	}
	return &machine.ApplyConfiguration{Mode: mode, ModeDetails: details, Warnings: warnings}, nil
}

// resolveMode says how a change takes effect. From Talos 1.14 on everything applies live, and there is no mode reboot. Nobody here tries a
// configuration for a while (mode try).
func resolveMode(asked machine.ApplyConfigurationRequest_Mode, needs error, live bool) (machine.ApplyConfigurationRequest_Mode, string, error) {
	if live {
		needs = nil
	}
	switch {
	case asked == machine.ApplyConfigurationRequest_STAGED:
		return asked, "Staged configuration to be applied after the next reboot", nil
	case asked == machine.ApplyConfigurationRequest_NO_REBOOT && needs != nil:
		return asked, "", status.Error(codes.InvalidArgument, needs.Error())
	case asked == machine.ApplyConfigurationRequest_REBOOT && live:
		return asked, "", status.Error(codes.Unimplemented, "reboot mode is not supported")
	case asked == machine.ApplyConfigurationRequest_REBOOT, asked == machine.ApplyConfigurationRequest_AUTO && needs != nil:
		return machine.ApplyConfigurationRequest_REBOOT, "Applied configuration with a reboot", nil
	case asked == machine.ApplyConfigurationRequest_AUTO, asked == machine.ApplyConfigurationRequest_NO_REBOOT:
		return machine.ApplyConfigurationRequest_NO_REBOOT, "Applied configuration without a reboot", nil
	}
	return asked, "", fmt.Errorf("incorrect mode '%s' specified for the apply config call", asked)
}
