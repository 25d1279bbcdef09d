// Package api is the Talos API of one machine (machinery's protobufs). What is not here answers "unimplemented".
package api

import (
	"context"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	cosiserver "github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	core "talos-gpu/lab/machines/internal/talos/machine"
)

// New makes the API server of a machine's boot. Releases before 1.13 have neither ImageService nor LifecycleService, so
// that talosctl falls back to the old calls (talos v1.13.0 v1alpha1_server.go, Register; v1.12.11 the same file).
func New(m *core.Machine) *grpc.Server {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(32 << 20))

	machine.RegisterMachineServiceServer(server, &machineService{m: m})
	cosi.RegisterStateServer(server, cosiserver.NewState(m.Resources().State))

	if m.HasStreamingAPI() {
		machine.RegisterImageServiceServer(server, &imageService{m: m})
		machine.RegisterLifecycleServiceServer(server, &lifecycleService{m: m})
	}

	return server
}

// machineService is MachineService.
type machineService struct {
	machine.UnimplementedMachineServiceServer
	m *core.Machine
}

func (s *machineService) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	shot := s.m.Snapshot()

	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version:  &machine.VersionInfo{Tag: shot.TalosVersion, Sha: "lab", Os: "linux", Arch: "amd64"},
		Platform: &machine.PlatformInfo{Name: s.m.Platform(), Mode: "metal"},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
}

func (s *machineService) Hostname(context.Context, *emptypb.Empty) (*machine.HostnameResponse, error) {
	return &machine.HostnameResponse{Messages: []*machine.Hostname{{Hostname: s.m.Name()}}}, nil
}

func (s *machineService) ApplyConfiguration(_ context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	answer, err := s.m.Apply(request)
	if err != nil {
		return nil, err
	}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{answer}}, nil
}

func (s *machineService) Reboot(_ context.Context, request *machine.RebootRequest) (*machine.RebootResponse, error) {
	actor, err := s.m.Reboot(request.GetMode() == machine.RebootRequest_FORCE)
	if err != nil {
		return nil, err
	}

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: actor}}}, nil
}

func (s *machineService) Upgrade(ctx context.Context, request *machine.UpgradeRequest) (*machine.UpgradeResponse, error) { //nolint:staticcheck // the old API, which releases before 1.13 have alone
	actor, err := s.m.UpgradeAndReboot(ctx, request.GetImage(), request.GetForce())
	if err != nil {
		return nil, err
	}

	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}
