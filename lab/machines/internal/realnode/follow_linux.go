package realnode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	nodeutil "k8s.io/component-helpers/node/util"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/driver"
)

// Follow runs a real node for every boot of the machine whose kubelet runs, until ctx ends.
func Follow(ctx context.Context, config Config, machine host.Machine) error {
	if os.Geteuid() != 0 {
		return errors.New("a real node needs root, for namespaces and control groups; run the lab as root, or leave --machines node out")
	}
	return host.EachBoot(ctx, machine, func(snapshot host.Snapshot) (func(), func(), error) {
		stop := start(ctx, config, machine, snapshot)
		// Talos >= 1.14 restarts containerd in the same boot when its configuration changes. Here the whole node
		// restarts, and its containerd then reads the new configuration.
		changed := func() {
			now := machine.Snapshot()
			if maps.Equal(now.CRIParts, snapshot.CRIParts) {
				return
			}
			machine.Event("the real node begins again with a changed configuration of containerd")
			stop()
			snapshot, stop = now, start(ctx, config, machine, now)
		}
		return changed, func() { stop() }, nil
	})
}

// start runs the real node of one boot until stop is called.
func start(ctx context.Context, config Config, machine host.Machine, snapshot host.Snapshot) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	spec := specOf(config, machine, snapshot)
	if stead := driver.InStead(spec); stead != "" {
		machine.Event("the real node runs NVIDIA's container toolkit %s in the stead of its image's %s", stead, cmp.Or(snapshot.Toolkit(), "untold one"))
	}
	go func() {
		defer close(ended)
		// The node is killed when the thread that started it ends (PR_SET_PDEATHSIG), so this thread must stay.
		runtime.LockOSThread()
		if err := run(ctx, spec, config, machine); err != nil && ctx.Err() == nil {
			machine.Event("the real node ended: %v", err)
			logf(machine, "%v", err)
		}
	}()
	return func() {
		leave(config, machine)
		cancel()
		<-ended
	}
}

const (
	// statusEvery is the kubelet's default period, which Talos does not change (kubernetes v1.36
	// pkg/kubelet/apis/config/v1beta1/defaults.go, NodeStatusUpdateFrequency). A changed allocatable is not reported
	// earlier.
	statusEvery = 10 * time.Second
	// restartAfter is the delay before Talos restarts containerd or the kubelet. It restarts them each time that they
	// end (talos internal/app/machined/pkg/system/runner/restart, DefaultOptions; services/cri.go and kubelet.go,
	// restart.Forever).
	restartAfter = 5 * time.Second
)

func specOf(config Config, machine host.Machine, s host.Snapshot) *boot.Spec {
	s.Config = nil
	// With a simulated driver, the durations below are lab time. With a real card they are real time, so that
	// measurements are as on any machine.
	real := machine.Clock().Real
	if config.RealDriver {
		real = func(wait time.Duration) time.Duration { return wait }
	}
	return &boot.Spec{
		Snapshot:     s,
		Kubernetes:   config.Kubernetes,
		Node:         config.Node,
		Name:         machine.Name(),
		Address:      ipv4(machine.Address()),
		Folder:       filepath.Join(filepath.Dir(machine.RootFS()), "node"),
		Proc:         filepath.Join(machine.RootFS(), "proc/driver"),
		Cards:        gpu.Unsplit(machine.Key(), s),
		StatusEvery:  max(time.Second, real(statusEvery)),
		RestartAfter: real(restartAfter),
	}
}

// ipv4 returns an address that a node can have. It returns "" for a machine's host name, and for IPv6, which the node's
// network lacks.
func ipv4(address string) string {
	if ip, err := netip.ParseAddr(address); err != nil || !ip.Is4() {
		return ""
	}
	return address
}

// leave reports the node as not ready, as Talos' kubelet does when its machine goes down. There Talos replaces
// systemd's logind, which a kubelet asks (talos v1.13.0 internal/pkg/logind; kubernetes pkg/kubelet/nodeshutdown). Here
// the node is just killed, so this program must report it.
func leave(config Config, machine host.Machine) {
	identity, err := config.Authority.Node(machine.Name())
	if err != nil {
		return
	}
	identity.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(identity)
	if err != nil {
		return
	}
	err = nodeutil.SetNodeCondition(client, types.NodeName(machine.Name()), corev1.NodeCondition{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionFalse,
		Reason:             "KubeletNotReady",
		Message:            "node is shutting down",
		LastTransitionTime: metav1.Now(),
	})
	if err != nil {
		logf(machine, "saying that the node shuts down: %v", err)
	}
}

func logf(machine host.Machine, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "real node %s: %s\n", machine.Name(), strings.TrimSpace(fmt.Sprintf(format, args...)))
}
