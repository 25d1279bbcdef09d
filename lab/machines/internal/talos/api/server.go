package api

import (
	"context"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	cosiserver "github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// machineService is MachineService.
type machineService struct {
	machine.UnimplementedMachineServiceServer
}

func (*machineService) Version(ctx context.Context, _ *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{
		Version:  &machine.VersionInfo{Tag: of(ctx).Snapshot().TalosVersion, Sha: "lab", Os: "linux", Arch: "amd64"},
		Platform: &machine.PlatformInfo{Name: of(ctx).Platform(), Mode: "metal"},
		Features: &machine.FeaturesInfo{Rbac: true},
	}}}, nil
}

func (*machineService) ApplyConfiguration(ctx context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	answer, err := of(ctx).Apply(request)
	if err != nil {
		return nil, err
	}
	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{answer}}, nil
}

func (*machineService) Reboot(ctx context.Context, request *machine.RebootRequest) (*machine.RebootResponse, error) {
	actor, err := of(ctx).Reboot(request.GetMode() == machine.RebootRequest_FORCE)
	if err != nil {
		return nil, err
	}
	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: actor}}}, nil
}

func (*machineService) Upgrade(ctx context.Context, request *machine.UpgradeRequest) (*machine.UpgradeResponse, error) { //nolint:staticcheck // the old API, which releases before 1.13 have alone
	actor, err := of(ctx).UpgradeAndReboot(ctx, request.GetImage())
	if err != nil {
		return nil, err
	}
	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, nil
}

// ImagePull is the call of releases before 1.13, which 1.13 still has.
func (*machineService) ImagePull(ctx context.Context, request *machine.ImagePullRequest) (*machine.ImagePullResponse, error) { //nolint:staticcheck
	if err := of(ctx).PullPatiently(ctx, request.GetReference()); err != nil {
		return nil, err
	}
	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil //nolint:staticcheck
}

// Bootstrap etcd of the cluster on this control plane.
func (*machineService) Bootstrap(ctx context.Context, _ *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	if err := of(ctx).Bootstrap(); err != nil {
		return nil, err
	}
	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}

// imageService is ImageService, from Talos 1.13 on.
type imageService struct {
	machine.UnimplementedImageServiceServer
}

func (*imageService) Pull(request *machine.ImageServicePullRequest, stream grpc.ServerStreamingServer[machine.ImageServicePullResponse]) error {
	if err := of(stream.Context()).PullPatiently(stream.Context(), request.GetImageRef()); err != nil {
		return err
	}
	return stream.Send(&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_Name{Name: request.GetImageRef()}})
}

// lifecycleService is LifecycleService, from Talos 1.13 on.
type lifecycleService struct {
	machine.UnimplementedLifecycleServiceServer
}

func (*lifecycleService) Upgrade(request *machine.LifecycleServiceUpgradeRequest, stream grpc.ServerStreamingServer[machine.LifecycleServiceUpgradeResponse]) error {
	code, err := of(stream.Context()).Install(stream.Context(), request.GetSource().GetImageName(), func(message string) {
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

// stateService reads the resources of a machine.
type stateService struct{ cosi.UnimplementedStateServer }

func (*stateService) Get(ctx context.Context, request *cosi.GetRequest) (*cosi.GetResponse, error) {
	return resourcesOf(ctx).Get(ctx, request)
}

func (*stateService) List(request *cosi.ListRequest, stream grpc.ServerStreamingServer[cosi.ListResponse]) error {
	return resourcesOf(stream.Context()).List(request, stream)
}

func (*stateService) Watch(request *cosi.WatchRequest, stream grpc.ServerStreamingServer[cosi.WatchResponse]) error {
	return resourcesOf(stream.Context()).Watch(request, stream)
}

func resourcesOf(ctx context.Context) *cosiserver.State {
	return cosiserver.NewState(of(ctx).shown.State)
}
