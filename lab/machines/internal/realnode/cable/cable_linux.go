// Package cable connects the node to this computer with a network, and to the cluster's API with sockets.
package cable

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/node/reach"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// networks is the maximum number of nodes of one computer.
const networks = 250

// Connect makes a cable (veth pair) from this computer into the node's network namespace, and returns the number of the
// node's network. It takes the first number that no other node has. The cable disappears with the namespace. The alias
// of its interface on this computer names the owner.
func Connect(pid int, owner string) (int, error) {
	for network := 1; network <= networks; network++ {
		link := boot.Link(network)
		if files.Exists("/sys/class/net/" + link) {
			continue
		}
		if err := IP(fmt.Sprintf("link add %s type veth peer name eth0 netns %d", link, pid)); err != nil {
			if files.Exists("/sys/class/net/" + link) { // another lab's node was faster
				continue
			}
			return 0, err
		}
		lines := []string{
			fmt.Sprintf("addr add %s/30 dev %s", boot.Gateway(network), link),
			fmt.Sprintf("link set %s alias %s up", link, owner),
		}
		for _, line := range lines {
			if err := IP(line); err != nil {
				return 0, err
			}
		}
		return network, nil
	}
	return 0, fmt.Errorf("there are %d real nodes on this computer already", networks)
}

// IP runs a command of iproute2.
func IP(line string) error {
	said, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %s: %w; the node's network needs iproute2 and a kernel with veth and bridges", line, strings.TrimSpace(string(said)), err)
	}
	return nil
}

// Attach configures the cable's end in the node, with the node's and the machine's address. It also makes the cluster's
// API and the machine's facts available, at the addresses that the node and its pods use.
func Attach(spec *boot.Spec, number int) error {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return err
	}
	lines := []string{
		"link set lo up", "addr add " + boot.APIAddress + "/32 dev lo",
		"addr add " + boot.Address(number) + "/30 dev eth0", "link set eth0 up", "route add default via " + boot.Gateway(number),
	}
	if spec.Address != "" {
		lines = append(lines, "addr add "+spec.Address+"/32 dev eth0")
	}
	for _, line := range lines {
		if err := IP(line); err != nil {
			return err
		}
	}
	api := spec.APISocket()
	sockets := map[string]string{
		"127.0.0.1:" + server.Port(): api,
		boot.APIAddress + ":443":     api,
		boot.FactsAddress:            spec.FactsSocket(),
	}
	for address, socket := range sockets {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go Forward(listener, DialTo("unix", socket))
	}
	return nil
}

// ServeAPI forwards the cluster's API from a socket. The API listens on this computer's loopback interface, which the
// node cannot reach.
func ServeAPI(spec *boot.Spec) (func(), error) {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return nil, err
	}
	socket := spec.APISocket()
	_ = os.Remove(socket) // the socket of an earlier boot
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	go Forward(listener, DialTo("tcp", server.Host))
	return func() { listener.Close() }, nil
}

// DialTo returns a function that connects to an address.
func DialTo(network, address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout(network, address, 10*time.Second) }
}

// Forward connects each client to what dial reaches at that moment.
func Forward(listener net.Listener, dial func() (net.Conn, error)) {
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
			reach.Join(client, server)
		}()
	}
}
