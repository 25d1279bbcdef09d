// Package manifests makes the Kubernetes manifests of kube-proxy and CoreDNS from a control plane's configuration. Talos
// makes them in the same way, with more fields (talos v1.13.0 internal/app/machined/pkg/controllers/k8s/manifest.go,
// k8stemplates). CoreDNS has the release of Talos 1.14.1 on each Talos. Flannel is left out, because no emulated pod has
// a network.
package manifests

import (
	"github.com/siderolabs/talos/pkg/machinery/config"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Manifest is a manifest under Talos' name for it.
type Manifest struct {
	Name    string
	Objects []unstructured.Unstructured
}

// replicas is the number of CoreDNS' pods (k8stemplates, CoreDNSDeployment).
const replicas = 2

// Of returns the manifests. It returns none for a worker.
func Of(provider config.Provider) (list []Manifest) {
	if machine := provider.Machine(); machine == nil || !machine.Type().IsControlPlane() {
		return nil
	}
	if proxy := provider.K8sProxyConfig(); proxy != nil && proxy.Enabled() {
		selector, template := pods("kube-proxy", proxy.Image())
		template.Spec.HostNetwork = true
		template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		list = append(list, Manifest{"10-kube-proxy", objects(&appsv1.DaemonSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
			ObjectMeta: named("kube-proxy"),
			Spec:       appsv1.DaemonSetSpec{Selector: selector, Template: template},
		})})
	}
	if dns := provider.K8sCoreDNSConfig(); dns != nil && dns.Enabled() {
		selector, template := pods("coredns", dns.Image())
		count := int32(replicas)
		template.Spec.Tolerations = []corev1.Toleration{{
			Key:      "node-role.kubernetes.io/control-plane",
			Operator: corev1.TolerationOpExists,
			Effect:   corev1.TaintEffectNoSchedule,
		}}
		list = append(list, Manifest{"11-core-dns", objects(&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: named("coredns"),
			Spec:       appsv1.DeploymentSpec{Replicas: &count, Selector: selector, Template: template},
		})})
	}
	return list
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": name}}
}

func pods(name, image string) (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	labels := map[string]string{"k8s-app": name}
	return &metav1.LabelSelector{MatchLabels: labels}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image}}},
	}
}

func objects(typed ...runtime.Object) (list []unstructured.Unstructured) {
	for _, object := range typed {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			panic(err) // it converts every type of Kubernetes' API
		}
		delete(content, "status")
		list = append(list, unstructured.Unstructured{Object: content})
	}
	return list
}
