//go:build linux

package realnode

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// enter waits until the node's control groups and cable are there, and goes on inside.
func enter(path string) error {
	network, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("nobody says that the node may start: %w", err)
	}
	return ownGroups(os.Args[0], initCommand, path, strings.TrimSpace(network))
}

// initialise is the node's first process: it starts the one that does the work, lays to rest whatever loses its parent, and ends with that one.
func initialise(arguments []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "real node: %v\n", err)
		return 1
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	child, err := os.StartProcess(self, append([]string{self, insideCommand}, arguments...), &os.ProcAttr{Files: files, Env: os.Environ()})
	if err != nil {
		fmt.Fprintf(os.Stderr, "real node: %v\n", err)
		return 1
	}
	return reap(child.Pid)
}

// reap waits for every child until the one ends, and gives its exit code.
func reap(until int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 1
		case pid == until && status.Exited():
			return status.ExitStatus()
		case pid == until && status.Signaled():
			return 128 + int(status.Signal())
		}
	}
}

// inside does the node's work: it lays out the machine, starts containerd and the kubelet, and ends when one of them cannot be started.
func inside(path, cable string) error {
	spec, err := load(path)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(cable)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(*Spec) error
	}{
		{"mounts", mountMachine}, {"network", func(spec *Spec) error { return network(spec, number) }}, {"programs", install}, {"driver", driver}, {"images", serveImages},
		{"containerd's configuration", func(spec *Spec) error { return configureContainerd(spec, number) }}, {"kubelet's configuration", configureKubelet},
	} {
		if err := step.do(spec); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	kubelet := []string{"/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml", "--kubeconfig=/etc/kubernetes/kubeconfig", "--hostname-override=" + spec.Name, "--node-ip=" + addressOf(number), "--v=2"}
	failed := make(chan error, 3)
	for _, each := range []service{
		{"containerd", []string{"/usr/bin/containerd", "--config", "/etc/containerd/config.toml"}, func() error { return exec.Command("/usr/bin/ctr", "version").Run() }},
		{"kubelet", kubelet, kubeletAnswers},
	} {
		running, err := each.start(spec)
		if err != nil {
			return err
		}
		go func() { failed <- each.keep(spec, running) }()
	}
	go func() { failed <- fmt.Errorf("the cluster's Services: %w", serveCluster(context.Background())) }()
	return <-failed
}

// network: the cable, and the cluster's API at the two addresses where the node and its pods look for it.
func network(spec *Spec, number int) error {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return err
	}
	for _, line := range []string{
		"link set lo up", "addr add " + apiAddress + "/32 dev lo",
		"addr add " + addressOf(number) + "/30 dev eth0", "link set eth0 up", "route add default via " + gatewayOf(number),
	} {
		if err := ip(line); err != nil {
			return err
		}
	}
	api := filepath.Join(spec.Folder, "api.sock")
	for address, socket := range map[string]string{"127.0.0.1:" + server.Port(): api, apiAddress + ":443": api, factsAddress: spec.factsSocket()} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go forward(listener, dialTo("unix", socket))
	}
	return nil
}

// install puts the programs where Talos has them.
func install(spec *Spec) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	place := map[string]string{"/usr/bin/runc": self}
	for _, each := range []struct{ folder, name, as string }{
		{"/usr/bin", "kubelet", "kubelet"}, {"/usr/bin", "containerd", "containerd"}, {"/usr/bin", "containerd-shim-runc-v2", "containerd-shim-runc-v2"},
		{"/usr/bin", "ctr", "ctr"}, {"/usr/bin", "runc", "runc.real"},
		{"/opt/cni/bin", "bridge", "bridge"}, {"/opt/cni/bin", "loopback", "loopback"}, {"/opt/cni/bin", "host-local", "host-local"},
	} {
		program, err := spec.program(each.name)
		if err != nil {
			return err
		}
		place[filepath.Join(each.folder, each.as)] = program
	}
	for target, source := range place {
		if err := bind(source, target); err != nil {
			return err
		}
	}
	// A copy: runc seals its own program by an overlay over its folder (opencontainers/runc v1.3.4, libcontainer/exeseal), which sees no mount on it.
	text, err := os.ReadFile(place[realRunc])
	if err != nil {
		return err
	}
	if err := syscall.Unmount(realRunc, 0); err != nil {
		return err
	}
	return os.WriteFile(realRunc, text, 0o755)
}

// bind shows a file under another name.
func bind(source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	_ = os.Remove(target)
	if err := os.WriteFile(target, nil, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("showing %s as %s: %w", source, target, err)
	}
	return nil
}

// write makes a file and its folder.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// said runs a program and gives its output with the error.
func said(argv ...string) error {
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}
