// Package proxy provides cluster functions on the node: Services and their names, and folders for volumes.
package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/cable"
)

// proxy replaces kube-proxy and CoreDNS on the node. It has a listener for each TCP port of a Service, and answers
// queries for names of Services. This node cannot reach pods on emulated nodes.
type proxy struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	mutex    sync.Mutex
	open     map[string]net.Listener
}

// Serve follows the cluster's Services and volumes until ctx ends, and answers DNS queries until an error.
func Serve(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	services, slices := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	p := &proxy{services: services.Lister(), slices: slices.Lister(), open: map[string]net.Listener{}}
	change := func(any) { p.follow() }
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    change,
		UpdateFunc: func(_, now any) { change(now) },
		DeleteFunc: change,
	}
	if _, err := services.Informer().AddEventHandler(handler); err != nil {
		return err
	}
	slices.Informer()
	if err := followVolumes(factory); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return p.serveNames()
}

// follow opens the ports of new Services, and closes the ports of removed ones.
func (p *proxy) follow() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all, err := p.services.List(labels.Everything())
	if err != nil {
		return
	}
	wanted := map[string]bool{}
	for _, service := range all {
		address := service.Spec.ClusterIP
		if address == "" || address == corev1.ClusterIPNone || address == boot.APIAddress {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol != corev1.ProtocolTCP {
				continue
			}
			at := net.JoinHostPort(address, fmt.Sprint(port.Port))
			wanted[at] = true
			if p.open[at] != nil {
				continue
			}
			_ = cable.IP("addr add " + address + "/32 dev lo") // another port may already have added it
			listener, err := net.Listen("tcp", at)
			if err != nil {
				fmt.Fprintf(os.Stderr, "the Service %s/%s: %v\n", service.Namespace, service.Name, err)
				continue
			}
			p.open[at] = listener
			go cable.Forward(listener, p.dialer(service.Namespace, service.Name, port.Name))
		}
	}
	for at, listener := range p.open {
		if !wanted[at] {
			listener.Close()
			delete(p.open, at)
		}
	}
}

// dialer returns a function that connects to a ready endpoint of a service.
func (p *proxy) dialer(namespace, service, port string) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		address := p.endpoint(namespace, service, port)
		if address == "" {
			return nil, fmt.Errorf("service %s/%s has no endpoint that is ready", namespace, service)
		}
		return cable.DialTo("tcp", address)()
	}
}

// endpoint returns the address of a ready endpoint, or "".
func (p *proxy) endpoint(namespace, service, port string) string {
	found, err := p.slices.EndpointSlices(namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	if err != nil {
		return ""
	}
	var ready []string
	for _, slice := range found {
		for _, each := range slice.Ports {
			if each.Port == nil || each.Name != nil && *each.Name != port {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
					ready = append(ready, net.JoinHostPort(endpoint.Addresses[0], fmt.Sprint(*each.Port)))
				}
			}
		}
	}
	if len(ready) == 0 {
		return ""
	}
	return ready[rand.IntN(len(ready))]
}

const clusterDomain = ".svc.cluster.local."

// serveNames answers queries for Services. It reports that other names do not exist, because pods have no way out of
// the node.
func (p *proxy) serveNames() error {
	if err := cable.IP("addr replace " + boot.DNSAddress + "/32 dev lo"); err != nil {
		return err
	}
	socket, err := net.ListenPacket("udp", boot.DNSAddress+":53")
	if err != nil {
		return err
	}
	buffer := make([]byte, 1500)
	for {
		size, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return err
		}
		if answer := p.answer(buffer[:size]); answer != nil {
			_, _ = socket.WriteTo(answer, from)
		}
	}
}

func (p *proxy) answer(packet []byte) []byte {
	var asked dnsmessage.Message
	if asked.Unpack(packet) != nil || len(asked.Questions) != 1 {
		return nil
	}
	question := asked.Questions[0]
	said := dnsmessage.Message{Header: dnsmessage.Header{
		ID:               asked.ID,
		Response:         true,
		Authoritative:    true,
		RecursionDesired: asked.RecursionDesired,
	}, Questions: asked.Questions}
	switch address := p.addressOf(question.Name.String()); {
	case address == nil:
		said.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		header := dnsmessage.ResourceHeader{
			Name:  question.Name,
			Type:  dnsmessage.TypeA,
			Class: dnsmessage.ClassINET,
			TTL:   5,
		}
		said.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte(address)}}}
	}
	text, err := said.Pack()
	if err != nil {
		return nil
	}
	return text
}

// addressOf returns the address of a Service by its name in the cluster's domain, or nil.
func (p *proxy) addressOf(name string) net.IP {
	short, inside := strings.CutSuffix(strings.ToLower(name), clusterDomain)
	service, namespace, whole := strings.Cut(short, ".")
	if !inside || !whole {
		return nil
	}
	found, err := p.services.Services(namespace).Get(service)
	if err != nil {
		return nil
	}
	return net.ParseIP(found.Spec.ClusterIP).To4()
}

// followVolumes makes the folders of the lab's volumes writable for every user, as provisioners of local folders do. A
// kubelet makes a hostPath for root and sets no group on it (kubernetes pkg/volume/hostpath, which supports no
// fsGroup).
func followVolumes(factory informers.SharedInformerFactory) error {
	change := func(object any) {
		volume, known := object.(*corev1.PersistentVolume)
		if !known || volume.Spec.HostPath == nil {
			return
		}
		path := volume.Spec.HostPath.Path
		if os.MkdirAll(path, 0o777) == nil {
			_ = os.Chmod(path, 0o777)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: change, UpdateFunc: func(_, now any) { change(now) }}
	_, err := factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(handler)
	return err
}
