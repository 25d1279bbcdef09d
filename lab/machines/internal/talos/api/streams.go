package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// onDisk is where a machine keeps its configuration (talos v1.13.0 pkg/machinery/constants: StateMountPoint, ConfigFilename).
const onDisk = "/system/state/config.yaml"

// Read a file of the machine.
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

// Kubeconfig of the cluster's administrator. A machine makes it from the Kubernetes authority of its configuration; here it
// is that of the lab's own API server, which stands for the control plane's and has an authority of its own. As an archive of one file (talos v1.13.0 v1alpha1_server.go, Kubeconfig).
func (*machineService) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	t := of(stream.Context())
	// A stack may hold workers alone; the endpoint itself is a control plane all the same.
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
	err = tape.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "kubeconfig", Size: int64(len(content)), ModTime: time.Now(), Mode: 0o600})
	if err == nil {
		_, err = tape.Write(content)
	}
	if err := errors.Join(err, tape.Close(), zip.Close()); err != nil {
		return err
	}
	return stream.Send(&common.Data{Bytes: archive.Bytes()})
}

// Dmesg is the machine's history of this boot: the lab has no other log. Facility and priority stand before each line of the kernel's
// (talos v1.13.0 v1alpha1_server.go, Dmesg).
func (*machineService) Dmesg(_ *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	for _, line := range of(stream.Context()).BootLog() {
		if err := stream.Send(&common.Data{Bytes: []byte("user: warning: " + strings.Replace(line, "] ", "]: ", 1))}); err != nil {
			return err
		}
	}
	return nil
}
