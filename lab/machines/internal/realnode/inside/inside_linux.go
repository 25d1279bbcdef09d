// Package inside works in the node's namespaces: it prepares the machine and runs its containerd and kubelet.
package inside

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/cable"
	"talos-gpu/lab/machines/internal/realnode/driver"
	"talos-gpu/lab/machines/internal/realnode/facts"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/groups"
	"talos-gpu/lab/machines/internal/realnode/images"
	"talos-gpu/lab/machines/internal/realnode/proxy"
	"talos-gpu/lab/machines/internal/spec"
)

// Commands with which this binary runs the processes of a real node; see Main.
const (
	// EnterCommand is the node's first program, which the lab starts in new namespaces.
	EnterCommand  = "real-node-enter"
	initCommand   = "real-node-init"
	insideCommand = "real-node-inside"
)

// Main runs the commands of a real node's processes. It returns false for other arguments.
func Main(arguments []string) (handled bool, code int) {
	if len(arguments) < 3 {
		return false, 0
	}
	var err error
	switch arguments[1] {
	case initCommand:
		code, err = initialise(arguments[2:])
	case EnterCommand:
		err = enter(arguments[2])
	case insideCommand:
		err = inside(arguments[2], arguments[3])
	default:
		return false, 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "real node: %v\n", err)
		return true, 1
	}
	return true, code
}

// enter waits until the node's control groups and cable exist, and then enters the node.
func enter(path string) error {
	network, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("no line says that the node may start: %w", err)
	}
	return groups.Enter(os.Args[0], initCommand, path, strings.TrimSpace(network))
}

// initialise is the node's first process. It starts the process that does the work, reaps orphans, and ends with that
// process.
func initialise(arguments []string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	child, err := os.StartProcess(self, append([]string{self, insideCommand}, arguments...), &os.ProcAttr{Files: files, Env: os.Environ()})
	if err != nil {
		return 0, err
	}
	return reap(child.Pid), nil
}

// reap waits for the children of this process until the process until ends, and returns the exit code of that one.
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

// inside prepares the machine and starts containerd and the kubelet. It ends if one of them cannot be started.
func inside(path, network string) error {
	spec, err := spec.Load[boot.Spec](path)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(network)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(*boot.Spec) error
	}{
		{"mounts", mountMachine}, {"network", func(spec *boot.Spec) error { return cable.Attach(spec, number) }}, {"programs", install}, {"driver", driver.Install}, {"images", images.Serve},
		{"containerd's configuration", func(spec *boot.Spec) error { return configureContainerd(spec, number) }}, {"kubelet's configuration", configureKubelet},
	} {
		if err := step.do(spec); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	failed := make(chan error, 3)
	go func() { failed <- keep(spec, "/usr/bin/containerd", "--config", "/etc/containerd/config.toml") }()
	if err := waitForContainerd(); err != nil {
		return err
	}
	go func() {
		failed <- keep(spec, "/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml", "--kubeconfig=/etc/kubernetes/kubeconfig", "--hostname-override="+spec.Name, "--node-ip="+spec.NodeIP(number), "--v=2")
	}()
	client, err := facts.Client()
	if err != nil {
		return err
	}
	go func() { failed <- fmt.Errorf("the cluster's Services: %w", proxy.Serve(context.Background(), client)) }()
	return <-failed
}

// install installs the programs where Talos has them.
func install(spec *boot.Spec) error {
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
		program, err := spec.Program(each.name)
		if err != nil {
			return err
		}
		place[filepath.Join(each.folder, each.as)] = program
	}
	for target, source := range place {
		if err := files.Bind(source, target); err != nil {
			return err
		}
	}
	// runc must be a copy. It seals its program with an overlay over its folder (opencontainers/runc v1.3.4,
	// libcontainer/exeseal), and an overlay does not show a mount.
	text, err := os.ReadFile(place[realRunc])
	if err != nil {
		return err
	}
	if err := syscall.Unmount(realRunc, 0); err != nil {
		return err
	}
	return os.WriteFile(realRunc, text, 0o755)
}

// keep runs a program with a log, and restarts it each time that it ends, as Talos does. Pods continue to run
// meanwhile.
func keep(spec *boot.Spec, argv ...string) error {
	name := filepath.Base(argv[0])
	log, err := os.OpenFile(filepath.Join(spec.Folder, "logs", name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		command := exec.Command(argv[0], argv[1:]...)
		command.Stdout, command.Stderr = log, log
		command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
		if err := command.Start(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s ended: %v, and is started again\n", name, cmp.Or(command.Wait(), errors.New("by itself")))
		time.Sleep(spec.RestartAfter)
	}
}

// waitForContainerd waits for containerd's socket, which exists as soon as containerd answers.
func waitForContainerd() error {
	const limit = 90 * time.Second
	for began := time.Now(); !files.Exists("/run/containerd/containerd.sock"); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > limit {
			return fmt.Errorf("containerd is not up after %s", limit)
		}
	}
	return nil
}
