package api

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	core "talos-gpu/lab/machines/internal/talos/machine"
)

// ImagePull and ImageList are the calls of releases before 1.13, which 1.13 still has.
func (s *machineService) ImagePull(ctx context.Context, request *machine.ImagePullRequest) (*machine.ImagePullResponse, error) { //nolint:staticcheck
	if err := s.m.Pull(ctx, request.GetReference()); err != nil {
		return nil, err
	}

	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil //nolint:staticcheck
}

func (s *machineService) ImageList(_ *machine.ImageListRequest, stream grpc.ServerStreamingServer[machine.ImageListResponse]) error { //nolint:staticcheck
	for _, reference := range s.m.Images() {
		if err := stream.Send(&machine.ImageListResponse{Name: reference, Digest: digest(reference), CreatedAt: timestamppb.Now()}); err != nil { //nolint:staticcheck
			return err
		}
	}

	return nil
}

func digest(reference string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(reference)))
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

func (s *imageService) List(_ *machine.ImageServiceListRequest, stream grpc.ServerStreamingServer[machine.ImageServiceListResponse]) error {
	for _, reference := range s.m.Images() {
		if err := stream.Send(&machine.ImageServiceListResponse{Name: reference, Digest: digest(reference), CreatedAt: timestamppb.Now()}); err != nil {
			return err
		}
	}

	return nil
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

// Install is for machines without Talos, and there is none in the lab.
func (s *lifecycleService) Install(*machine.LifecycleServiceInstallRequest, grpc.ServerStreamingServer[machine.LifecycleServiceInstallResponse]) error {
	return status.Error(codes.AlreadyExists, "machine is already installed")
}
