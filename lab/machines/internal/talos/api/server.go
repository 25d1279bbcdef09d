// Package api is the Talos API of one machine (machinery's protobufs), as far as talosctl needs it for what a stack, its program and
// the doctor do. What is not here answers "unimplemented".
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
	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version:  &machine.VersionInfo{Tag: s.m.Snapshot().TalosVersion, Sha: "lab", Os: "linux", Arch: "amd64"},
		Platform: &machine.PlatformInfo{Name: s.m.Platform(), Mode: "metal"},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
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
	actor, err := s.m.UpgradeAndReboot(ctx, request.GetImage())
	if err != nil {
		return nil, err
	}
	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

// ImagePull is the call of releases before 1.13, which 1.13 still has.
func (s *machineService) ImagePull(ctx context.Context, request *machine.ImagePullRequest) (*machine.ImagePullResponse, error) { //nolint:staticcheck
	if err := s.m.Pull(ctx, request.GetReference()); err != nil {
		return nil, err
	}
	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil //nolint:staticcheck
}

// Bootstrap etcd of the cluster on this control plane.
func (s *machineService) Bootstrap(context.Context, *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	if err := s.m.Bootstrap(); err != nil {
		return nil, err
	}
	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

// imageService is ImageService, from Talos 1.13 on.
type imageService struct {
	machine.UnimplementedImageServiceServer
	m *core.Machine
}

func (s *imageService) Pull(request *machine.ImageServicePullRequest, stream grpc.ServerStreamingServer[machine.ImageServicePullResponse]) error {
	if err := s.m.PullPatiently(stream.Context(), request.GetImageRef()); err != nil {
		return err
	}
	return stream.Send(&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_Name{Name: request.GetImageRef()}})
}

// lifecycleService is LifecycleService, from Talos 1.13 on.
type lifecycleService struct {
	machine.UnimplementedLifecycleServiceServer
	m *core.Machine
}

func (s *lifecycleService) Upgrade(request *machine.LifecycleServiceUpgradeRequest, stream grpc.ServerStreamingServer[machine.LifecycleServiceUpgradeResponse]) error {
	code, err := s.m.Install(stream.Context(), request.GetSource().GetImageName(), func(message string) {
		_ = stream.Send(&machine.LifecycleServiceUpgradeResponse{Progress: &machine.LifecycleServiceInstallProgress{ //nolint:errcheck // a lost caller ends the context
			Response: &machine.LifecycleServiceInstallProgress_Message{Message: message},
		}})
	})
	if err != nil {
		return err
	}
	return stream.Send(&machine.LifecycleServiceUpgradeResponse{Progress: &machine.LifecycleServiceInstallProgress{
		Response: &machine.LifecycleServiceInstallProgress_ExitCode{ExitCode: code},
	}})
}
