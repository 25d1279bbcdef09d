//go:build linux

package realnode

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long the node's parts have to come up.
const startLimit = 90 * time.Second

// enter waits until the node's control groups and cable are there, and goes on inside.
func enter(path string) error {
	network, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("nobody says that the node may start: %w", err)
	}
	return ownGroups(os.Args[0], insideCommand, path, strings.TrimSpace(network))
}

// inside is the node's first process: it lays out the machine, starts containerd and the kubelet, and ends with either of them.
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
	ended := make(chan error, 2)
	if err := startProgram(spec, ended, "containerd", "/usr/bin/containerd", "--config", "/etc/containerd/config.toml"); err != nil {
		return err
	}
	if err := await("containerd", ended, func() error { return exec.Command("/usr/bin/ctr", "version").Run() }); err != nil {
		return err
	}
	if err := startProgram(spec, ended, "kubelet", "/usr/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml", "--kubeconfig=/etc/kubernetes/kubeconfig",
		"--hostname-override="+spec.Name, "--node-ip="+addressOf(number), "--v=2"); err != nil {
		return err
	}
	if err := await("kubelet", ended, func() error {
		answer, err := http.Get("http://127.0.0.1:10248/healthz")
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("health: %s", answer.Status)
		}
		return nil
	}); err != nil {
		return err
	}
	return <-ended
}

// startProgram runs a program of the node, with a log of its own.
func startProgram(spec *Spec, ended chan<- error, name string, argv ...string) error {
	log, err := os.Create(filepath.Join(spec.Folder, "logs", name+".log"))
	if err != nil {
		return err
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	go func() { ended <- fmt.Errorf("%s ended: %w", name, orNil(command.Wait())) }()
	return nil
}

func orNil(err error) error {
	if err == nil {
		return fmt.Errorf("by itself")
	}
	return err
}

// await asks until there is no error.
func await(what string, ended <-chan error, ask func() error) error {
	deadline := time.After(startLimit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case end := <-ended:
			return end
		case <-deadline:
			return fmt.Errorf("%s is not up after %s: %w", what, startLimit, err)
		case <-tick.C:
		}
	}
}

// mountMachine gives the node a machine's file system over this computer's: what is written stays in memory, and goes with the node.
func mountMachine(spec *Spec) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	work := filepath.Join(spec.Folder, "machine")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", work, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, folder := range []string{"usr", "etc", "var"} {
		upper, scratch := filepath.Join(work, folder), filepath.Join(work, folder+".work")
		for _, each := range []string{upper, scratch} {
			if err := os.Mkdir(each, 0o755); err != nil {
				return err
			}
		}
		if err := syscall.Mount("overlay", "/"+folder, "overlay", 0, fmt.Sprintf("lowerdir=/%s,upperdir=%s,workdir=%s", folder, upper, scratch)); err != nil {
			return fmt.Errorf("an overlay over /%s: %w", folder, err)
		}
	}
	for _, folder := range []string{"/var/lib/containerd", "/var/lib/kubelet", "/run", "/opt", "/var/log/pods"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
		// Mounts of the driver, e.g. of MPS' shared memory, reach from pod to pod.
		if err := syscall.Mount("", folder, "", syscall.MS_SHARED, ""); err != nil {
			return err
		}
	}
	if info, err := os.Lstat("/var/run"); err == nil && info.Mode()&os.ModeSymlink == 0 {
		if err := syscall.Mount("/run", "/var/run", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := devices(spec, work); err != nil {
		return err
	}
	if err := mountGroups(); err != nil {
		return err
	}
	if err := identify(spec); err != nil {
		return err
	}
	return syscall.Sethostname([]byte(spec.Name))
}

// identify says what the machine says of itself, where the kubelet's cAdvisor looks (google/cadvisor utils/sysinfo, machine/operatingsystem_unix.go).
func identify(spec *Spec) error {
	boot := filepath.Join(spec.Folder, "machine", "boot_id")
	if err := os.WriteFile(boot, []byte(spec.BootID+"\n"), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(boot, "/proc/sys/kernel/random/boot_id", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("the boot's id: %w", err)
	}
	_ = os.Remove("/etc/os-release")
	return write("/etc/os-release", fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", spec.Talos, spec.Talos))
}

// devices makes the node's /dev: the usual ones of this computer, and its cards' or their stand-ins.
func devices(spec *Spec, work string) error {
	folder := filepath.Join(work, "dev")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	names := []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse"}
	if spec.RealDriver {
		found, _ := filepath.Glob("/dev/nvidia*")
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				names = append(names, filepath.Base(path))
			}
		}
	}
	for _, name := range names {
		if _, err := os.Stat("/dev/" + name); err != nil {
			continue
		}
		target := filepath.Join(folder, name)
		info := syscall.Stat_t{}
		if err := syscall.Stat("/dev/"+name, &info); err != nil {
			return err
		}
		if err := syscall.Mknod(target, syscall.S_IFCHR|0o666, int(info.Rdev)); err != nil {
			return fmt.Errorf("the device %s: %w", name, err)
		}
		_ = os.Chmod(target, 0o666)
	}
	if spec.standsIn() && spec.Driver != "" {
		stand := []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"}
		for i := range spec.Cards {
			stand = append(stand, fmt.Sprintf("nvidia%d", i))
		}
		for _, name := range stand {
			if err := syscall.Mknod(filepath.Join(folder, name), syscall.S_IFCHR|0o666, 1<<8|3); err != nil { // as /dev/null
				return err
			}
		}
	}
	for link, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			return err
		}
	}
	if err := syscall.Mount(folder, "/dev", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	for _, mount := range []struct{ name, kind, options string }{{"pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"}, {"shm", "tmpfs", "mode=1777"}, {"mqueue", "mqueue", ""}} {
		if err := os.Mkdir("/dev/"+mount.name, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(mount.kind, "/dev/"+mount.name, mount.kind, 0, mount.options); err != nil {
			return fmt.Errorf("mounting /dev/%s: %w", mount.name, err)
		}
	}
	return nil
}

// network: the cable, and the cluster's API at the two addresses where the node and its pods look for it.
func network(spec *Spec, number int) error {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return err
	}
	for _, line := range []string{
		"link set lo up", "addr add 10.96.0.1/32 dev lo",
		"addr add " + addressOf(number) + "/30 dev eth0", "link set eth0 up", "route add default via " + gatewayOf(number),
	} {
		if err := ip(line); err != nil {
			return err
		}
	}
	socket := filepath.Join(spec.Folder, "api.sock")
	for _, address := range []string{"127.0.0.1:" + server.Port(), "10.96.0.1:443"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go forward(listener, "unix", socket)
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
