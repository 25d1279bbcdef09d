package kubelet

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
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
	"talos-gpu/lab/machines/internal/node/apply"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/registration"
)

// session is the kubelet of one boot.
type session struct {
	kubelet  *Kubelet
	machine  host.Machine
	client   kubernetes.Interface // the node's own rights
	bootID   string
	ctx      context.Context
	cancel   context.CancelFunc
	recorder record.EventRecorder
	runtime  *cri.Runtime
	devices  *devices.Manager
	node     *registration.Node
	applier  *apply.Controller
	work     sync.WaitGroup

	mutex      sync.Mutex
	workers    map[types.UID]*worker
	podNetwork netip.Prefix
	podAddress netip.Addr
}

func startSession(ctx context.Context, k *Kubelet, client, elevated kubernetes.Interface, snapshot host.Snapshot) *session {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		kubelet: k, machine: k.machine, client: client, bootID: snapshot.BootID, ctx: ctx, cancel: cancel,
		runtime: k.runtime, applier: apply.New(k.machine, client, elevated), workers: map[types.UID]*worker{},
	}
	s.recorder = s.record()
	s.devices = devices.NewManager(func() { s.node.Changed() }, s.later)
	s.node = registration.New(k.machine, client, registration.Config{Port: k.logPort, Offer: s.devices.Offer, Recorder: s.recorder})
	s.work.Go(s.run)
	return s
}

// run registers the node and then keeps everything going until the machine stops.
func (s *session) run() {
	if err := os.MkdirAll(filepath.Join(s.machine.RootFS(), "var/lib/kubelet/device-plugins"), 0o750); err != nil {
		s.logf("%v", err)
	}
	if !s.until("registering the node", func() error { return s.node.Register(s.ctx) }) {
		return
	}
	s.machine.Event("kubelet registered the node")
	s.work.Go(func() { s.node.RenewLease(s.ctx) })
	s.work.Go(func() { s.applier.Run(s.ctx) })
	s.machineChanged()
	s.work.Go(func() { s.node.Run(s.ctx) })
	s.watchPods()
}

// until retries with a pause of 2 lab seconds; the API server may not be up yet.
func (s *session) until(doing string, try func() error) bool {
	var last string
	for {
		err := try()
		if err == nil {
			return true
		}
		if s.ctx.Err() != nil {
			return false
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

// shutdown ends the session as a machine that goes down does: it says that the node is not ready (kubernetes
// pkg/kubelet/nodeshutdown), then containers end with the machine, and nobody reports them.
func (s *session) shutdown() {
	if s.ctx.Err() == nil {
		s.node.Leave(s.ctx)
	}
	s.cancel()
	s.work.Wait()
}

func (s *session) machineChanged() {
	s.node.Changed()
	s.applier.Changed()
}

// later does something unless the session ends before. It is none of the work that shutdown waits for: a program that ends with the
// machine takes its device plugin back while that wait is over already, and a WaitGroup takes no more then.
func (s *session) later(after time.Duration, do func()) {
	go func() {
		if s.machine.Clock().Sleep(s.ctx, after) == nil {
			do()
		}
	}()
}

// record sends events as component kubelet of this node.
func (s *session) record() record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(s.ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: s.client.CoreV1().Events("")})
	context.AfterFunc(s.ctx, broadcaster.Shutdown)
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: s.machine.Name()})
}

// watchPods follows the pods that are bound to this node.
func (s *session) watchPods() {
	source := cache.NewListWatchFromClient(s.client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", s.machine.Name()))
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
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
		},
	})
	controller.Run(s.ctx.Done())
}

func (s *session) podChanged(pod *corev1.Pod) {
	if isMirrored(pod) {
		return
	}
	s.mutex.Lock()
	w, known := s.workers[pod.UID]
	if !known {
		w = newWorker(s, pod)
		s.workers[pod.UID] = w
	}
	s.mutex.Unlock()
	if known {
		w.updated(pod)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	w.cancel = cancel
	s.work.Go(func() {
		defer cancel()
		w.run(ctx)
	})
}

// podGone ends a pod that was removed without waiting for the kubelet.
func (s *session) podGone(pod *corev1.Pod) {
	s.mutex.Lock()
	w := s.workers[pod.UID]
	delete(s.workers, pod.UID)
	s.mutex.Unlock()
	if w != nil {
		w.cancel()
		s.devices.Free(string(pod.UID))
	}
}

func (s *session) logf(format string, args ...any) {
	s.kubelet.logf("%s", fmt.Sprintf(format, args...))
}
