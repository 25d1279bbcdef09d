// Package storage provides a default storage class and its provisioner.
package storage

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// storageClass is the lab's default class, which this program provisions: a volume is a folder on the machine that runs
// the pod. A claim is bound at once and to no machine, so a pod that moves finds an empty volume.
const (
	storageClass = "lab"
	provisioner  = "lab.talos-gpu.dev/folder"
)

// Provision creates the class, and a volume for every claim of this class, until ctx ends. The controller manager binds
// claims to volumes.
func Provision(ctx context.Context, client kubernetes.Interface) error {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: storageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:       provisioner,
		ReclaimPolicy:     &reclaim,
		VolumeBindingMode: &binding,
	}
	_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("making the storage class %s: %w", storageClass, err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	provision := func(object any) {
		claim := object.(*corev1.PersistentVolumeClaim)
		if err := provisionClaim(ctx, client, claim); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "storage: claim %s/%s: %v\n", claim.Namespace, claim.Name, err)
		}
	}
	_, err = factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    provision,
		UpdateFunc: func(_, object any) { provision(object) },
	})
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().PersistentVolumes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) { reclaimVolume(ctx, client, object.(*corev1.PersistentVolume)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

func provisionClaim(ctx context.Context, client kubernetes.Interface, claim *corev1.PersistentVolumeClaim) error {
	isOurs := claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == storageClass
	if !isOurs || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return nil
	}
	name := "pvc-" + string(claim.UID)
	folder := corev1.HostPathDirectoryOrCreate
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			StorageClassName:              storageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1",
				Kind:       "PersistentVolumeClaim",
				Namespace:  claim.Namespace,
				Name:       claim.Name,
				UID:        claim.UID,
			},
			// Talos' kubelet runs in a container and can create folders only in the parts of /var that are mounted into
			// it.
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{
				Path: "/var/lib/kubelet/lab/" + name,
				Type: &folder}},
		},
	}
	_, err := client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// reclaimVolume removes a volume whose claim is gone.
func reclaimVolume(ctx context.Context, client kubernetes.Interface, volume *corev1.PersistentVolume) {
	if volume.Status.Phase != corev1.VolumeReleased || volume.Annotations["pv.kubernetes.io/provisioned-by"] != provisioner {
		return
	}
	err := client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "storage: volume %s: %v\n", volume.Name, err)
	}
}
