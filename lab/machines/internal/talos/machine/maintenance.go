package machine

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
)

// firstConfiguration returns the configuration of the file, or an empty one without a file.
func firstConfiguration(path, version string) (config.Provider, error) {
	if path == "" {
		return nothing(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	provider, _, err := configuration.Load(data, version, configuration.Mode{})
	return provider, err
}

func nothing() config.Provider {
	return container.NewV1Alpha1(&v1alpha1.Config{
		ConfigVersion: "v1alpha1",
		MachineConfig: &v1alpha1.MachineConfig{},
		ClusterConfig: &v1alpha1.ClusterConfig{},
	})
}

// maintenanceSequence waits for the first configuration, installs its image, and reboots into it (talos v1.13.0
// internal/app/machined/pkg/controllers/config/acquire.go, stateMaintenance, and v1alpha1_sequencer.go, Install). A
// failed installation leaves nothing on the disk, so the machine returns to maintenance mode.
func (m *Machine) maintenanceSequence(ctx context.Context, _ bool) error {
	m.setStage(runtime.MachineStageMaintenance, false)
	m.Event("this machine is reachable in maintenance mode at %s", m.MaintenanceAddress())
	if err := m.serveMaintenance(ctx); err != nil {
		return err
	}
	m.setStage(runtime.MachineStageInstalling, false)
	if err := m.installFirst(ctx); err != nil {
		m.update(func(s *state) { s.unconfigured, s.active, s.persistent = true, nothing(), nothing() })
		return fmt.Errorf("install: %w", err)
	}
	_, err := m.goDown(&shutdown{skipStop: true})
	return err
}

// serveMaintenance serves the maintenance API until a configuration has been applied.
func (m *Machine) serveMaintenance(ctx context.Context) error {
	if m.maintenance == nil {
		listener, err := net.Listen("tcp", m.maintenanceAt)
		if err != nil {
			return err
		}
		m.maintenance = listener
	}
	server := m.env.ServeMaintenance(m)
	go server.Serve(m.maintenance) //nolint:errcheck // ends with Stop
	err := m.await(ctx, func(s *state) bool { return !s.unconfigured })
	server.GracefulStop() // first sends the answer to the client that applied the configuration
	m.maintenance = nil
	return err
}

func (m *Machine) installFirst(ctx context.Context) error {
	reference := configuration.InstallerImage(m.active())
	if err := m.Pull(ctx, reference); err != nil {
		return err
	}
	image, err := m.pulled(reference)
	if err != nil {
		return err
	}
	if err := m.env.Clock.Sleep(ctx, installTime); err != nil {
		return err
	}
	m.Event("installed Talos %s, schematic %s", image.Version, image.SchematicID)
	m.update(func(s *state) {
		s.slots.Install(image, false)
		s.slots.Confirm() // there is no previous image
		s.images = map[string]factory.Image{}
	})
	return nil
}

// applyFirst is apply-config to a machine in maintenance mode. Every mode except `staged` applies at once and starts
// the installation (talos v1.13.0 v1alpha1_server.go, ApplyConfiguration, inMaintenance).
func (m *Machine) applyFirst(request *machine.ApplyConfigurationRequest) (*machine.ApplyConfiguration, error) {
	wanted, _, err := configuration.Load(request.GetData(), m.running().Version, configuration.Mode{ToInstall: true})
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	answer := &machine.ApplyConfiguration{Mode: machine.ApplyConfigurationRequest_NO_REBOOT, ModeDetails: "Applied configuration without a reboot"}
	switch {
	case request.GetMode() == machine.ApplyConfigurationRequest_STAGED:
		return nil, status.Error(codes.Unimplemented, "the lab's machines have no staged configuration in maintenance mode")
	case request.GetDryRun():
		answer.ModeDetails = "Dry run summary:\n" + answer.ModeDetails + " (skipped in dry-run).\n"
		return answer, nil
	}
	m.Event("apply config request: mode %s(no_reboot), in maintenance mode", strings.ToLower(request.GetMode().String()))
	m.update(func(s *state) { s.unconfigured, s.active, s.persistent, s.boot.applied = false, wanted, wanted, true })
	return answer, nil
}

// MaintenanceAddress returns the address of the machine's API in maintenance mode, or "" if the machine began with a
// configuration.
func (m *Machine) MaintenanceAddress() string { return m.maintenanceAt }

// InMaintenance reports whether the machine waits for its first configuration. Until then it has only the API of
// serveMaintenance.
func (m *Machine) InMaintenance() bool {
	return look(m, func(s *state) bool { return s.unconfigured })
}

// Authority returns the CA of the machine API from a control plane's configuration. It returns nil on a worker, and
// before the first configuration.
func (m *Machine) Authority() *x509.PEMEncodedCertificateAndKey {
	security := m.active().Machine().Security()
	if m.InMaintenance() || security == nil {
		return nil
	}
	if authority := security.IssuingCA(); authority != nil && len(authority.Key) > 0 {
		return authority
	}
	return nil
}

// busy returns an error while the machine installs or goes down.
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
// ApplyConfiguration). The error of a busy machine is that of 1.13, and here older releases return it too.
func (m *Machine) Apply(request *machine.ApplyConfigurationRequest) (*machine.ApplyConfiguration, error) {
	if m.InMaintenance() {
		return m.applyFirst(request)
	}
	wanted, warnings, err := configuration.Load(request.GetData(), m.running().Version, configuration.Mode{})
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
		m.goDown(&shutdown{}) //nolint:errcheck // busy has already checked it
		if request.GetMode() == machine.ApplyConfigurationRequest_AUTO {
			details += ": " + reboot.Error() // for mode auto, say why the machine reboots
		}
	}
	return &machine.ApplyConfiguration{Mode: mode, ModeDetails: details, Warnings: warnings}, nil
}

// resolveMode returns how a change takes effect. Since Talos 1.14 everything applies live, and there is no mode reboot.
// The mode try, which tests a configuration for a while, is not emulated, because no caller uses it.
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
		return asked, "", status.Error(codes.Unimplemented, "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead")
	case asked == machine.ApplyConfigurationRequest_REBOOT, asked == machine.ApplyConfigurationRequest_AUTO && needs != nil:
		return machine.ApplyConfigurationRequest_REBOOT, "Applied configuration with a reboot", nil
	case asked == machine.ApplyConfigurationRequest_AUTO, asked == machine.ApplyConfigurationRequest_NO_REBOOT:
		return machine.ApplyConfigurationRequest_NO_REBOOT, "Applied configuration without a reboot", nil
	}
	return asked, "", fmt.Errorf("incorrect mode '%s' specified for the apply config call", asked)
}
