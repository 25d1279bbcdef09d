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

// stir says that there may be something to do. What stirs again before it is received counts once.
type stir chan struct{}

func (s stir) again() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// stirredBy stirs at first, and whenever an object of those resources comes, changes or goes, until ctx ends. Like the real programs, which have
// informers: a look at short intervals made up a fifth of the API server's requests in a lab.
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
