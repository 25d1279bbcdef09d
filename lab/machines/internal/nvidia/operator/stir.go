package operator

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// stir signals a program that there may be something to do. Several signals before the program reads count as one.
type stir chan struct{}

func (s stir) again() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// each calls act after each signal, when the pause is over, until ctx ends. It calls act again after an error.
func (s stir) each(ctx context.Context, pause, act func() error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s:
		}
		if pause() != nil {
			return
		}
		if act() != nil {
			s.again()
		}
	}
}

// stirredBy signals at the start, and after an object of these resources is created, changed or deleted, until ctx
// ends. The real programs also have informers (gpu-operator controllers/clusterpolicy_controller.go, Watch; NFD v0.18.3
// pkg/nfd-master/nfd-api-controller.go). Polling at short intervals caused a fifth of the API server's requests in a
// lab.
func stirredBy(ctx context.Context, client dynamic.Interface, resources ...schema.GroupVersionResource) stir {
	stirs := make(stir, 1)
	stirs.again()
	for _, resource := range resources {
		objects := client.Resource(resource)
		source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return objects.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return objects.Watch(ctx, options)
			},
		}, client)
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: source,
			ObjectType:    &unstructured.Unstructured{},
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc:    func(any) { stirs.again() },
				UpdateFunc: func(any, any) { stirs.again() },
				DeleteFunc: func(any) { stirs.again() },
			},
		})
		go informer.RunWithContext(ctx)
	}
	return stirs
}
