package api

import (
	"context"
	"crypto/tls"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"talos-gpu/lab/machines/internal/node/identity"
	core "talos-gpu/lab/machines/internal/talos/machine"
)

// maintenanceMethods are the methods of this API that a machine without a configuration allows for every caller. They
// read, or apply the configuration (talos v1.13.0 internal/app/machined/pkg/controllers/runtime/api_service_config.go:
// ReadonlyRoleMode; v1alpha1_server.go, ApplyConfiguration: no role required).
var maintenanceMethods = []string{
	"/machine.MachineService/ApplyConfiguration", "/machine.MachineService/Version", "/storage.StorageService/Disks",
}

// NewMaintenance makes the API server of a machine in maintenance mode. It is encrypted with a self-signed certificate
// and open to every client.
func NewMaintenance(m *core.Machine) *grpc.Server {
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			made, err := identity.SelfSigned()
			return &made, err
		}})),
		grpc.MaxRecvMsgSize(32<<20),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if _, err := m.Called(ctx); err != nil {
				return nil, err
			}
			if !slices.Contains(maintenanceMethods, info.FullMethod) {
				return nil, status.Error(codes.PermissionDenied, "not authorized")
			}
			return handle(context.WithValue(ctx, targetKey{}, target{Machine: m}), request)
		}),
		grpc.StreamInterceptor(func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
			return status.Error(codes.PermissionDenied, "not authorized")
		}),
	)
	machine.RegisterMachineServiceServer(server, &machineService{})
	storage.RegisterStorageServiceServer(server, &storageService{})
	return server
}

// storageService lists a machine's disks. The Talos provider uses this call to detect maintenance mode
// (terraform-provider-talos v0.11.0 pkg/talos/util.go, talosClientOp).
type storageService struct {
	storage.UnimplementedStorageServiceServer
}

func (*storageService) Disks(context.Context, *emptypb.Empty) (*storage.DisksResponse, error) {
	return &storage.DisksResponse{Messages: []*storage.Disks{{Disks: []*storage.Disk{{
		DeviceName: "/dev/sda",
		Size:       512 << 30,
		Type:       storage.Disk_SSD,
	}}}}}, nil
}
