// Package network is what containers can reach: addresses of pods, which lead to listeners on 127.0.0.1, and names of
// Services. There is no packet in it; the Services and EndpointSlices are those of the real API server.
package network

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Catalog looks Services and their endpoints up.
type Catalog interface {
	Service(namespace, name string) (*corev1.Service, bool)
	EndpointSlices(namespace, service string) []*discoveryv1.EndpointSlice
}

// Network of the emulated pods.
type Network struct {
	catalog Catalog
	mutex   sync.Mutex
	ports   map[string]string
}

// New makes a network whose Service names are looked up in the catalog; nil when there are none.
func New(catalog Catalog) *Network {
	return &Network{catalog: catalog, ports: map[string]string{}}
}

func key(ip string, port int) string { return ip + "|" + strconv.Itoa(port) }

// Register leads a port of a pod to an address of this computer.
func (n *Network) Register(podIP string, port int, address string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.ports[key(podIP, port)] = address
}

// Unregister undoes Register, unless another listener took the port over.
func (n *Network) Unregister(podIP string, port int, address string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.ports[key(podIP, port)] == address {
		delete(n.ports, key(podIP, port))
	}
}

// Pod is the address that stands for a pod's port.
func (n *Network) Pod(podIP string, port int) (string, bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	address, found := n.ports[key(podIP, port)]
	return address, found
}

// UnknownHost means that the cluster's DNS knows no such name.
type UnknownHost struct{ Host string }

func (e UnknownHost) Error() string { return "Could not resolve host: " + e.Host }

// Refused means that nothing listens.
type Refused struct {
	Host string
	Port int
}

func (e Refused) Error() string {
	return fmt.Sprintf("Failed to connect to %s port %d", e.Host, e.Port)
}

// Resolve finds the address behind host and port as a pod of the namespace sees them: localhost (of the pod), an address of a
// pod, a cluster IP's name: service, service.namespace, service.namespace.svc, ….svc.cluster.local.
func (n *Network) Resolve(namespace, podIP, host string, port int) (string, error) {
	if host == "localhost" || host == "127.0.0.1" {
		host = podIP
	}
	if address, found := n.Pod(host, port); found {
		return address, nil
	}
	if host == podIP || strings.Count(host, ".") == 3 && strings.Trim(host, "0123456789.") == "" {
		return "", Refused{host, port}
	}
	name, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local"), ".")
	if rest = strings.TrimSuffix(rest, "svc"); strings.Trim(rest, ".") != "" {
		namespace = strings.Trim(rest, ".")
	}
	if n.catalog == nil || strings.Contains(namespace, ".") {
		return "", UnknownHost{host}
	}
	service, found := n.catalog.Service(namespace, name)
	if !found {
		return "", UnknownHost{host}
	}
	return n.endpoint(service, host, port)
}

// endpoint picks a ready endpoint of the Service's port. With a headless Service, the port is the pods' own.
func (n *Network) endpoint(service *corev1.Service, host string, port int) (string, error) {
	portName, known := "", service.Spec.ClusterIP == corev1.ClusterIPNone
	for _, candidate := range service.Spec.Ports {
		if int(candidate.Port) == port {
			portName, known = candidate.Name, true
		}
	}
	if !known {
		return "", Refused{host, port}
	}
	for _, slice := range n.catalog.EndpointSlices(service.Namespace, service.Name) {
		for _, target := range slice.Ports {
			if target.Port == nil || target.Name != nil && *target.Name != portName {
				continue
			}
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
					continue
				}
				for _, ip := range endpoint.Addresses {
					if address, found := n.Pod(ip, int(*target.Port)); found {
						return address, nil
					}
				}
			}
		}
	}
	return "", Refused{host, port}
}
