package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"talos-gpu/lab/machines/internal/talos/events"
)

// ViaEndpoint marks a call that named no node, and so went to the endpoint itself: in the field a control plane.
const ViaEndpoint = "lab-via-endpoint"

// Events of the running boot, after an empty one that says hello (talos v1.13.0 v1alpha1_server.go, Events). Only
// `tail_events` of the ways to ask for the past is known.
func (s *machineService) Events(request *machine.EventsRequest, stream grpc.ServerStreamingServer[machine.Event]) error {
	hello, err := events.Encode("", request.GetWithActorId(), nil)
	if err != nil {
		return err
	}

	if err := stream.Send(hello); err != nil {
		return err
	}

	source := s.m.Events()
	if source == nil {
		return status.Error(codes.Unavailable, "the machine goes down")
	}

	return source.Watch(stream.Context(), int(request.GetTailEvents()), func(event *machine.Event) error {
		if actor := request.GetWithActorId(); actor != "" && event.GetActorId() != actor {
			return nil
		}

		return stream.Send(event)
	})
}

// onDisk is where a machine keeps its configuration (talos v1.13.0 pkg/machinery/constants: StateMountPoint, ConfigFilename).
const onDisk = "/system/state/config.yaml"

// Read a file of the machine.
func (s *machineService) Read(request *machine.ReadRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	path := filepath.Clean("/" + request.GetPath())

	if path == onDisk {
		configuration, err := s.m.OnDisk()
		if errors.Is(err, os.ErrNotExist) {
			return status.Errorf(codes.NotFound, "stat %s: no such file or directory", path)
		}

		if err != nil {
			return err
		}

		return send(bytes.NewReader(configuration), stream)
	}

	info, err := os.Stat(filepath.Join(s.m.RootFS(), path))
	if errors.Is(err, os.ErrNotExist) {
		return status.Errorf(codes.NotFound, "stat %s: no such file or directory", path)
	}

	if err != nil {
		return err
	}

	if !info.Mode().IsRegular() {
		return errors.New("path must be a regular file")
	}

	file, err := os.Open(filepath.Join(s.m.RootFS(), path))
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck

	return send(file, stream)
}

func send(reader io.Reader, stream grpc.ServerStreamingServer[common.Data]) error {
	buffer := make([]byte, 32<<10)

	for {
		n, err := reader.Read(buffer)
		if n > 0 {
			if err := stream.Send(&common.Data{Bytes: bytes.Clone(buffer[:n])}); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// Kubeconfig of the cluster's administrator. A machine makes it from the Kubernetes authority of its configuration; here it
// is that of the lab's own API server, which stands for the control plane's and has an authority of its own. As an archive of one file (talos v1.13.0 v1alpha1_server.go, Kubeconfig).
func (s *machineService) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	incoming, _ := metadata.FromIncomingContext(stream.Context())

	// A stack may hold workers alone; its endpoint is a control plane all the same.
	if s.m.Role() != "controlplane" && len(incoming.Get(ViaEndpoint)) == 0 {
		return status.Error(codes.Unimplemented, "kubeconfig is only available on control plane nodes")
	}

	if s.m.Environment().AdminKubeconfig == nil {
		return status.Error(codes.Unavailable, "the lab runs no Kubernetes")
	}

	content, err := s.m.Environment().AdminKubeconfig()
	if err != nil {
		return err
	}

	archive := &bytes.Buffer{}
	zip := gzip.NewWriter(archive)
	tape := tar.NewWriter(zip)

	if err := tape.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: "kubeconfig", Size: int64(len(content)), ModTime: time.Now(), Mode: 0o600,
	}); err != nil {
		return err
	}

	if _, err := tape.Write(content); err != nil {
		return err
	}

	if err := errors.Join(tape.Close(), zip.Close()); err != nil {
		return err
	}

	return send(archive, stream)
}

// Dmesg and Logs give the machine's history of this boot: the lab has no other log. Facility and priority stand before each line of the kernel's
// (talos v1.13.0 v1alpha1_server.go, Dmesg).
func (s *machineService) Dmesg(_ *machine.DmesgRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	for _, line := range s.m.BootLog() {
		if err := stream.Send(&common.Data{Bytes: []byte("user: warning: " + strings.Replace(line, "] ", "]: ", 1))}); err != nil {
			return err
		}
	}

	return nil
}

// Logs of a service: see Dmesg.
func (s *machineService) Logs(_ *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	for _, line := range s.m.BootLog() {
		if err := stream.Send(&common.Data{Bytes: []byte(line)}); err != nil {
			return err
		}
	}

	return nil
}
