//go:build linux

package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
)

// Commands of this binary that belong to a real node; see Main.
const (
	enterCommand  = "real-node-enter"
	initCommand   = "real-node-init"
	insideCommand = "real-node-inside"
)

// Main handles the commands of a real node, and being called as one of its programs. False when the arguments are others'.
func Main(arguments []string) (handled bool, code int) {
	switch filepath.Base(arguments[0]) {
	case "runc":
		return true, runcWithoutSeccomp(arguments)
	case "nvidia-smi":
		return true, askSettings(arguments[1:])
	}
	if image := os.Getenv(imageVariable); image != "" {
		return true, emulated(image, arguments)
	}
	if len(arguments) < 3 {
		return false, 0
	}
	var err error
	switch arguments[1] {
	case initCommand:
		return true, initialise(arguments[2:])
	case enterCommand:
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
	return true, 0
}

// run runs one boot's node in namespaces of its own, until ctx or the node ends.
func run(ctx context.Context, spec *Spec, authority *identity.Authority, machine host.Machine) error {
	for _, folder := range []string{"programs", "images", "logs"} {
		if err := os.MkdirAll(filepath.Join(spec.Folder, folder), 0o700); err != nil {
			return err
		}
	}
	path := filepath.Join(spec.Folder, "spec.json")
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	stop, err := serveAPI(spec)
	if err != nil {
		return err
	}
	defer stop()
	stopFacts, err := serveFacts(spec, authority, machine)
	if err != nil {
		return err
	}
	defer stopFacts()
	if err := prepare(spec); err != nil {
		return err
	}
	groups, err := makeGroups(groupName(spec.Name))
	if err != nil {
		return err
	}
	defer groups.remove()
	return live(ctx, spec, path, groups)
}

// groupName begins as the lab's folder is called, by which the lab's janitor finds what a node left that was cut off.
func groupName(node string) string {
	lab := filepath.Base(os.Getenv("TALOS_GPU_LAB"))
	if lab == "." {
		lab = "talos-gpu-node"
	}
	return fmt.Sprintf("%s-%s-%d", lab, node, os.Getpid())
}

func live(ctx context.Context, spec *Spec, path string, groups groups) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(spec.Folder, "logs", "node.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(self, enterCommand, path)
	command.Stdout, command.Stderr = log, log
	// Without the lab's mark: a node is no process that must be there before and after, and ends with this one.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true,
	}
	begin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the node in namespaces of its own: %w; root without CAP_SYS_ADMIN cannot", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	fail := func(err error) error {
		_ = command.Process.Kill()
		<-ended
		return err
	}
	if err := groups.take(command.Process.Pid); err != nil {
		return fail(err)
	}
	network, err := connect(command.Process.Pid)
	if err != nil {
		return fail(err)
	}
	if _, err := fmt.Fprintln(begin, network); err != nil {
		return fail(err)
	}
	select {
	case err := <-ended:
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w: %s; its logs are in %s", orNil(err), strings.TrimSpace(string(said)), filepath.Join(spec.Folder, "logs"))
	case <-ctx.Done():
		return fail(nil)
	}
}

// networks that nodes of one computer may have.
const networks = 250

// connect lays a cable from this computer into the node's network, and gives the number of its network: the first that no other node has. The cable
// goes with the node's network namespace.
func connect(pid int) (int, error) {
	for network := 1; network <= networks; network++ {
		link := linkOf(network)
		if exists("/sys/class/net/" + link) {
			continue
		}
		if err := ip(fmt.Sprintf("link add %s type veth peer name eth0 netns %d", link, pid)); err != nil {
			if exists("/sys/class/net/" + link) { // somebody else's node was quicker
				continue
			}
			return 0, err
		}
		for _, line := range []string{fmt.Sprintf("addr add %s/30 dev %s", gatewayOf(network), link), fmt.Sprintf("link set %s up", link)} {
			if err := ip(line); err != nil {
				return 0, err
			}
		}
		return network, nil
	}
	return 0, fmt.Errorf("there are %d real nodes on this computer already", networks)
}

func ip(line string) error {
	said, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %s: %w; the node's network needs iproute2 and a kernel with veth and bridges", line, strings.TrimSpace(string(said)), err)
	}
	return nil
}

// serveAPI passes the cluster's API on: it listens on this computer's loopback, which the node has not.
func serveAPI(spec *Spec) (func(), error) {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(spec.Folder, "api.sock")
	_ = os.Remove(socket) // an earlier boot's
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	go forward(listener, dialTo("tcp", server.Host))
	return func() { listener.Close() }, nil
}

// dialTo connects to an address.
func dialTo(network, address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout(network, address, 10*time.Second) }
}

// forward connects whoever comes to whom dial reaches then.
func forward(listener net.Listener, dial func() (net.Conn, error)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := dial()
			if err != nil {
				return
			}
			defer server.Close()
			join(client, server)
		}()
	}
}

// join passes on what both say, until one of them has ended.
func join(client, server net.Conn) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}
