package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	cosi "github.com/cosi-project/runtime/api/v1alpha1"
	cosiserver "github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"talos-gpu/lab/machines/internal/spec"
)

// machineService implements Talos' MachineService.
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
	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{answer}}, err
}

func (*machineService) Reboot(ctx context.Context, request *machine.RebootRequest) (*machine.RebootResponse, error) {
	actor, err := of(ctx).Reboot(request.GetMode() == machine.RebootRequest_FORCE)
	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: actor}}}, err
}

func (*machineService) Upgrade(ctx context.Context, request *machine.UpgradeRequest) (*machine.UpgradeResponse, error) { //nolint:staticcheck // the only API of releases before 1.13
	actor, err := of(ctx).UpgradeAndReboot(ctx, request.GetImage())
	return &machine.UpgradeResponse{Messages: []*machine.Upgrade{{Ack: "Upgrade request received", ActorId: actor}}}, err
}

// ImagePull is the call of releases before 1.13. Talos 1.13 still has it.
func (*machineService) ImagePull(ctx context.Context, request *machine.ImagePullRequest) (*machine.ImagePullResponse, error) { //nolint:staticcheck
	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, of(ctx).PullPatiently(ctx, request.GetReference()) //nolint:staticcheck
}

// Bootstrap bootstraps the cluster's etcd on this control plane.
func (*machineService) Bootstrap(ctx context.Context, _ *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, of(ctx).Bootstrap()
}

// imageService implements ImageService, which Talos has since 1.13.
type imageService struct {
	machine.UnimplementedImageServiceServer
}

func (*imageService) Pull(request *machine.ImageServicePullRequest, stream grpc.ServerStreamingServer[machine.ImageServicePullResponse]) error {
	if err := of(stream.Context()).PullPatiently(stream.Context(), request.GetImageRef()); err != nil {
		return err
	}
	return stream.Send(&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_Name{Name: request.GetImageRef()}})
}

// lifecycleService implements LifecycleService, which Talos has since 1.13.
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

func (*machineService) ServiceList(ctx context.Context, _ *emptypb.Empty) (*machine.ServiceListResponse, error) {
	list := &machine.ServiceList{}
	for _, service := range of(ctx).Services() {
		list.Services = append(list.Services, &machine.ServiceInfo{
			Id:    service.ID,
			State: service.State,
			Health: &machine.ServiceHealth{
				Unknown:    !service.Healthy,
				Healthy:    service.Healthy,
				LastChange: timestamppb.Now(),
			},
			Events: &machine.ServiceEvents{Events: []*machine.ServiceEvent{{
				Msg:   service.Message,
				State: service.State,
				Ts:    timestamppb.Now(),
			}}},
		})
	}
	return &machine.ServiceListResponse{Messages: []*machine.ServiceList{list}}, nil
}

// members returns the members of etcd: every control plane of the stack. The first one is the leader.
func members(t target, call string) (list []spec.Machine, err error) {
	if t.Role() != "controlplane" {
		return nil, status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", call)
	}
	for _, member := range t.Environment().Cluster {
		if member.Role == "controlplane" {
			list = append(list, member)
		}
	}
	return list, nil
}

// memberID derives the ID of a member from its address, so that the ID stays the same.
func memberID(member spec.Machine) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(member.Address))
	return sum.Sum64()
}

func (*machineService) EtcdMemberList(ctx context.Context, _ *machine.EtcdMemberListRequest) (*machine.EtcdMemberListResponse, error) {
	list, err := members(of(ctx), "member list")
	if err != nil {
		return nil, err
	}
	members := &machine.EtcdMembers{}
	for _, member := range list {
		members.Members = append(members.Members, &machine.EtcdMember{
			Id:         memberID(member),
			Hostname:   member.Name,
			PeerUrls:   []string{"https://" + member.Address + ":2380"},
			ClientUrls: []string{"https://" + member.Address + ":2379"},
		})
	}
	return &machine.EtcdMemberListResponse{Messages: []*machine.EtcdMembers{members}}, nil
}

func (*machineService) EtcdStatus(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdStatusResponse, error) {
	list, err := members(of(ctx), "etcd status")
	if err != nil {
		return nil, err
	}
	answer := &machine.EtcdMemberStatus{
		Leader:           memberID(list[0]),
		StorageVersion:   "3.6.0",
		ProtocolVersion:  "3.6.0",
		DbSize:           20 << 20,
		DbSizeInUse:      10 << 20,
		RaftTerm:         2,
		RaftIndex:        1000,
		RaftAppliedIndex: 1000,
	}
	for _, member := range list {
		if member.Name == of(ctx).Key() {
			answer.MemberId = memberID(member)
		}
	}
	return &machine.EtcdStatusResponse{Messages: []*machine.EtcdStatus{{MemberStatus: answer}}}, nil
}

// onDisk is the path of a machine's configuration on disk (talos v1.13.0 pkg/machinery/constants: StateMountPoint,
// ConfigFilename).
const onDisk = "/system/state/config.yaml"

// Read sends a file of the machine.
func (*machineService) Read(request *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	path := filepath.Clean("/" + request.GetPath())
	read := func() ([]byte, error) { return os.ReadFile(filepath.Join(of(stream.Context()).RootFS(), path)) }
	if path == onDisk {
		read = of(stream.Context()).OnDisk
	}
	content, err := read()
	if errors.Is(err, os.ErrNotExist) {
		return status.Errorf(codes.NotFound, "stat %s: no such file or directory", path)
	}
	if err != nil {
		return err
	}
	return stream.Send(&common.Data{Bytes: content})
}

// Kubeconfig sends the kubeconfig of the cluster's administrator, as an archive of one file (talos v1.13.0
// v1alpha1_server.go, Kubeconfig). A real machine makes it from the Kubernetes CA of its configuration. Here it is for
// the lab's API server, which has another CA and replaces the control plane's.
func (*machineService) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	t := of(stream.Context())
	// A stack may have only workers. A call that names no machine still gets the kubeconfig, because the endpoint acts
	// as a control plane.
	if t.Role() != "controlplane" && t.named != "" {
		return status.Error(codes.Unimplemented, "kubeconfig is only available on control plane nodes")
	}
	if t.Environment().AdminKubeconfig == nil {
		return status.Error(codes.Unavailable, "the lab runs no Kubernetes")
	}
	content, err := t.Environment().AdminKubeconfig()
	if err != nil {
		return err
	}
	archive := &bytes.Buffer{}
	zip := gzip.NewWriter(archive)
	tape := tar.NewWriter(zip)
	err = tape.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     "kubeconfig",
		Size:     int64(len(content)),
		ModTime:  time.Now(),
		Mode:     0o600,
	})
	if err == nil {
		_, err = tape.Write(content)
	}
	if err := errors.Join(err, tape.Close(), zip.Close()); err != nil {
		return err
	}
	return stream.Send(&common.Data{Bytes: archive.Bytes()})
}

// Logs sends machined's log of this boot. The lab has no logs of other services.
func (*machineService) Logs(request *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	if request.Id != "machined" {
		return status.Error(codes.Unimplemented, "the lab has only the log of machined")
	}
	for _, line := range of(stream.Context()).MachinedLog() {
		if err := stream.Send(&common.Data{Bytes: []byte(line)}); err != nil {
			return err
		}
	}
	return nil
}

// Dmesg sends the machine's console of this boot. Each line begins with facility and
// priority, as in the kernel's log (talos v1.13.0 v1alpha1_server.go, Dmesg).
func (*machineService) Dmesg(_ *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	for _, line := range of(stream.Context()).BootLog() {
		if err := stream.Send(&common.Data{Bytes: []byte("user: warning: " + strings.Replace(line, "] ", "]: ", 1))}); err != nil {
			return err
		}
	}
	return nil
}
