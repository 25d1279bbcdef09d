package main

import (
	"context"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

// namespaceController is the account of the controller whose work this is.
const namespaceController = "namespace-controller"

// emptyNamespaces empties a namespace as soon as it is deleted, with the namespace controller's own deleter and rights. That
// controller waits five seconds before, so that several API servers and etcd's followers have seen the deletion
// (kubernetes, pkg/controller/namespace/namespace_controller.go, namespaceDeletionGracePeriod). A lab has one of each, and five
// seconds are six minutes of its machines' time. The controller itself runs too: what is left after one try is left to it.
func emptyNamespaces(ctx context.Context, flags []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", valueOf(flags, "kubeconfig"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// At the first deletion: a start has enough to do.
	deleter := sync.OnceValue(func() deletion.NamespacedResourcesDeleterInterface { return deleterOf(ctx, config, client) })
	var tried sync.Map
	try := func(object any) {
		namespace, known := object.(*v1.Namespace)
		if !known || namespace.DeletionTimestamp == nil {
			return
		}
		if _, already := tried.LoadOrStore(namespace.UID, true); already {
			return
		}
		go func() {
			if err := deleter().Delete(ctx, namespace.Name); err != nil {
				klog.InfoS("What is left of a namespace is left to its controller", "namespace", namespace.Name, "reason", err)
			}
		}()
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err = factory.Core().V1().Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    try,
		UpdateFunc: func(_, object any) { try(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	return nil
}

// deleterOf has the controller's own account, and its own rates (kubernetes, cmd/kube-controller-manager/app/core.go,
// newNamespaceController).
func deleterOf(ctx context.Context, config *rest.Config, client kubernetes.Interface) deletion.NamespacedResourcesDeleterInterface {
	accounts := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(config), client.CoreV1(), "kube-system")
	own := accounts.ConfigOrDie(namespaceController)
	own.QPS, own.Burst = 400, 4000
	as := kubernetes.NewForConfigOrDie(own)
	return deletion.NewNamespacedResourcesDeleter(ctx, as.CoreV1().Namespaces(), metadata.NewForConfigOrDie(own),
		as.CoreV1(), as.Discovery().ServerPreferredNamespacedResources, v1.FinalizerKubernetes)
}

// valueOf is what a component is given for a flag; empty where it has none.
func valueOf(flags []string, name string) string {
	for _, flag := range flags {
		if value, found := strings.CutPrefix(flag, "--"+name+"="); found {
			return value
		}
	}
	return ""
}
