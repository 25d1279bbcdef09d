// Package kubelet emulates the kubelet of a machine against a real API server. It has a client certificate of the node,
// so the Node authorizer and NodeRestriction treat it like a real kubelet. It registers the node and offers the
// resources of device plugins. No container process runs: a table (package programs) says how each container ends.
//
// The real node (internal/realnode) covers what this package does not emulate: volumes, environment from objects,
// images, cgroups, probes and hooks. Here a container is ready when its program says so. The only hook that this
// package emulates is the one that fails with the nvidia runtime.
package kubelet

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/registration"
	"talos-gpu/lab/machines/internal/node/programs"
)

// Config configures a kubelet.
type Config struct {
	Authority *identity.Authority // signs the node's client certificate
	Rules     []programs.Rule     // what images do; the first match applies
}

// kubelet is the kubelet of one machine.
type kubelet struct {
	Config
	machine host.Machine
	logs    *logs
	images  sync.Map // images that the machine has pulled
}

// Run runs a session for every boot in which the machine's kubelet runs, until ctx ends.
func Run(ctx context.Context, config Config, machine host.Machine) error {
	k := &kubelet{Config: config, machine: machine, logs: newLogs()}
	port := k.logs.serve(ctx)
	return host.EachBoot(ctx, machine, func(host.Snapshot) (changed, stop func(), err error) {
		// The node's name can change with a boot, and the client's rights depend on the name.
		client, err := identity.Client(config.Authority.Node(machine.Name()))
		if err != nil {
			return nil, nil, err
		}
		boot := startSession(ctx, k, client, port)
		return boot.node.Changed, boot.shutdown, nil
	})
}

// session is the kubelet of one boot.
type session struct {
	*kubelet
	client   kubernetes.Interface // with the node's rights
	ctx      context.Context
	cancel   context.CancelFunc
	recorder record.EventRecorder
	devices  *devices.Manager
	node     *registration.Node
	work     sync.WaitGroup

	mutex sync.Mutex
	pods  map[types.UID]*pod
}

func startSession(ctx context.Context, k *kubelet, client kubernetes.Interface, port int32) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{kubelet: k, client: client, ctx: ctx, cancel: cancel, pods: map[types.UID]*pod{}}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	context.AfterFunc(ctx, broadcaster.Shutdown)
	s.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: k.machine.Name()})
	s.devices = devices.NewManager(func() { s.node.Changed() })
	s.node = registration.New(k.machine, client, port, s.devices.Offer)
	s.work.Go(s.run)
	return s
}

// run registers the node, then runs its pods until the machine stops.
func (s *session) run() {
	if !s.until("registering the node", func() error { return s.node.Register(s.ctx) }) {
		return
	}
	s.machine.Event("kubelet registered the node")
	s.work.Go(func() { s.node.RenewLease(s.ctx) })
	s.work.Go(func() { s.node.Run(s.ctx) })
	source := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", s.machine.Name()))
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: source, ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.podChanged(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { s.podChanged(object.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				s.podGone(pod)
			}
		},
	}})
	controller.Run(s.ctx.Done())
}

// until retries every 2 seconds of lab time, because the API server may not be up yet.
func (s *session) until(doing string, try func() error) bool {
	for last := ""; ; {
		err := try()
		if err == nil || s.ctx.Err() != nil {
			return err == nil
		}
		if err.Error() != last {
			last = err.Error()
			s.logf("%s: %v", doing, err)
		}
		if s.machine.Clock().Sleep(s.ctx, 2*time.Second) != nil {
			return false
		}
	}
}

// shutdown ends the session like a machine that shuts down. It reports the node as not ready (kubernetes
// pkg/kubelet/nodeshutdown). Then the containers end with the machine, and nothing reports their end. A machine that
// loses power reports nothing. The controller manager then finds out, and marks the node's pods as not ready. It marks
// no pods if the kubelet itself reported the node (kubernetes v1.36 pkg/controller/nodelifecycle, monitorNodeHealth).
func (s *session) shutdown() {
	if s.ctx.Err() == nil && s.machine.Snapshot().On {
		s.node.Leave(s.ctx)
	}
	s.cancel()
	s.work.Wait()
}

// later calls do after a delay, unless the session ends first. It does not use the WaitGroup of shutdown. A program
// that ends with the machine unregisters its device plugin, perhaps after shutdown's Wait has returned. A WaitGroup
// must not grow then.
func (s *session) later(after time.Duration, do func()) {
	go func() {
		if s.machine.Clock().Sleep(s.ctx, after) == nil {
			do()
		}
	}()
}

func (s *session) podChanged(object *corev1.Pod) {
	s.mutex.Lock()
	p, known := s.pods[object.UID]
	if !known {
		p = newPod(s, object)
		s.pods[object.UID] = p
	}
	s.mutex.Unlock()
	if known {
		p.updated(object)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	p.cancel = cancel
	s.work.Go(func() {
		defer cancel()
		p.run(ctx)
	})
}

// podGone ends a pod that was removed without waiting for the kubelet.
func (s *session) podGone(object *corev1.Pod) {
	s.mutex.Lock()
	p := s.pods[object.UID]
	delete(s.pods, object.UID)
	s.mutex.Unlock()
	if p != nil {
		p.cancel()
		s.devices.Free(string(object.UID))
		s.logs.forget(object)
	}
}

// podAddresses counts the addresses that pods of emulated nodes have got. No process listens at them. Pods of real
// nodes have other addresses.
var podAddresses atomic.Uint32

func (k *kubelet) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "kubelet %s: %s\n", k.machine.Name(), fmt.Sprintf(format, args...))
}
