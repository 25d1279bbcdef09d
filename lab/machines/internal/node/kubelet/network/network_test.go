package network

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type catalog struct{}

func (catalog) Service(namespace, name string) (*corev1.Service, bool) {
	if namespace != "ollama" || name != "ollama" {
		return nil, false
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}, true
}

func (catalog) EndpointSlices(string, string) []*discoveryv1.EndpointSlice {
	name, port, ready, unready := "http", int32(11434), true, false
	return []*discoveryv1.EndpointSlice{{
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.244.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &unready}},
			{Addresses: []string{"10.244.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}},
		},
	}}
}

func TestResolve(t *testing.T) {
	network := New(catalog{})
	network.Register("10.244.0.1", 11434, "127.0.0.1:1")
	network.Register("10.244.0.2", 11434, "127.0.0.1:2")
	for host, want := range map[string]string{
		"ollama": "127.0.0.1:2", "ollama.ollama": "127.0.0.1:2", "ollama.ollama.svc": "127.0.0.1:2", "ollama.ollama.svc.cluster.local": "127.0.0.1:2",
	} {
		if got, err := network.Resolve("ollama", "10.244.0.9", host, 80); got != want {
			t.Errorf("%s: %s, %v", host, got, err)
		}
	}
	if got, _ := network.Resolve("x", "10.244.0.1", "localhost", 11434); got != "127.0.0.1:1" {
		t.Errorf("localhost: %s", got)
	}
	var unknown UnknownHost
	for _, host := range []string{"nowhere.ollama.svc", "registry.ollama.ai", "ollama"} {
		if _, err := network.Resolve("default", "10.244.0.9", host, 80); !errors.As(err, &unknown) {
			t.Errorf("%s: %v", host, err)
		}
	}
	var refused Refused
	if _, err := network.Resolve("ollama", "10.244.0.9", "ollama", 81); !errors.As(err, &refused) {
		t.Errorf("another port: %v", err)
	}
}
