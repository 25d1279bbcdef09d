package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
)

// services is the cluster's DNS and service proxy, from the API server's Services and EndpointSlices.
type services struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

func watchServices(ctx context.Context, client kubernetes.Interface) *services {
	factory := informers.NewSharedInformerFactory(client, 0)
	watched := &services{services: factory.Core().V1().Services().Lister(), slices: factory.Discovery().V1().EndpointSlices().Lister()}
	factory.Start(ctx.Done())
	return watched
}

// Service implements network.Catalog.
func (s *services) Service(namespace, name string) (*corev1.Service, bool) {
	service, err := s.services.Services(namespace).Get(name)
	return service, err == nil
}

// EndpointSlices implements network.Catalog.
func (s *services) EndpointSlices(namespace, service string) []*discoveryv1.EndpointSlice {
	slices, _ := s.slices.EndpointSlices(namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service}))
	return slices
}
