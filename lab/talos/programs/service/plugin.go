package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	v1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	resource = "nvidia.com/gpu"
	socket   = "lab-nvidia-gpu.sock"
	visible  = "NVIDIA_VISIBLE_DEVICES"
)

// cards of the machine, as its board's asset tag has them (lab/talos/machine.ts): `2x RTX 3090`. Without a driver there are none.
func cards() (count int, model string, err error) {
	if _, err := os.Stat("/proc/driver/nvidia/version"); err != nil {
		return 0, "", fmt.Errorf("failed to initialize NVML: Driver Not Loaded: %w", err)
	}
	tag, err := os.ReadFile("/sys/class/dmi/id/board_asset_tag")
	if err != nil {
		return 0, "", err
	}
	number, model, _ := strings.Cut(strings.TrimSpace(string(tag)), "x ")
	count, err = strconv.Atoi(number)
	return count, model, err
}

// offer registers the cards with the kubelet (kubernetes, pkg/kubelet/apis/deviceplugin/v1beta1) until it is told to end.
func offer() error {
	count, model, err := cards()
	if err != nil {
		return err
	}
	place := v1beta1.DevicePluginPath + socket
	if err := os.Remove(place); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", place)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, &plugin{count: count})
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	kubelet, err := grpc.NewClient("unix://"+v1beta1.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = kubelet.Close() }()
	ctx, end := context.WithTimeout(context.Background(), time.Minute)
	defer end()
	if _, err := v1beta1.NewRegistrationClient(kubelet).Register(ctx, &v1beta1.RegisterRequest{
		Version: v1beta1.Version, Endpoint: socket, ResourceName: resource,
	}); err != nil {
		return err
	}
	fmt.Printf("offers %d of %s: %s\n", count, resource, model)
	// A kubelet that starts removes every socket there, and wants to be registered with again.
	told := ended()
	for {
		select {
		case <-told:
			return nil
		case <-time.After(time.Second):
			if _, err := os.Stat(place); err != nil {
				return fmt.Errorf("the kubelet has started again: %w", err)
			}
		}
	}
}

type plugin struct {
	v1beta1.UnimplementedDevicePluginServer
	count int
}

func (p *plugin) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (*v1beta1.DevicePluginOptions, error) {
	return &v1beta1.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *v1beta1.Empty, stream grpc.ServerStreamingServer[v1beta1.ListAndWatchResponse]) error {
	answer := &v1beta1.ListAndWatchResponse{}
	for index := range p.count {
		answer.Devices = append(answer.Devices, &v1beta1.Device{ID: strconv.Itoa(index), Health: v1beta1.Healthy})
	}
	if err := stream.Send(answer); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, asked *v1beta1.AllocateRequest) (*v1beta1.AllocateResponse, error) {
	answer := &v1beta1.AllocateResponse{}
	for _, container := range asked.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &v1beta1.ContainerAllocateResponse{
			Envs: map[string]string{visible: strings.Join(container.DevicesIds, ",")},
		})
	}
	return answer, nil
}
