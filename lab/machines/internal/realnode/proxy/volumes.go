//go:build linux

package proxy

import (
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// followVolumes makes the folders of the lab's volumes for everybody, as provisioners of local folders do: a kubelet makes a hostPath root's, and sets no
// group on it (kubernetes pkg/volume/hostpath, which supports no fsGroup).
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
