package inputs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Volumes of one pod.
type Volumes struct {
	// Pod whose volumes they are.
	Pod *corev1.Pod
	// Client has the node's own rights.
	Client kubernetes.Interface
	// RootFS is the machine's file system, Folder the pod's own.
	RootFS, Folder string
}

// Folders finds the folders of a pod's volumes: paths in the machine's file system, the pod's own folders, and nothing for
// what becomes files per container (ConfigMaps, Secrets), which is only checked to be there.
func (v Volumes) Folders(ctx context.Context) (map[string]string, error) {
	folders := map[string]string{}
	for _, volume := range v.Pod.Spec.Volumes {
		folder, err := v.volume(ctx, volume)
		if err != nil {
			return nil, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err)
		}
		folders[volume.Name] = folder
	}
	return folders, nil
}

// source has no addresses: no volume says them.
func (v Volumes) source(ctx context.Context) Source {
	return From(ctx, v.Client, v.Pod.Namespace, "", "")
}

func (v Volumes) volume(ctx context.Context, volume corev1.Volume) (string, error) {
	switch {
	case volume.HostPath != nil:
		return hostPath(v.RootFS, volume.HostPath)
	case volume.PersistentVolumeClaim != nil:
		return v.claim(ctx, volume.PersistentVolumeClaim.ClaimName)
	case volume.ConfigMap != nil:
		_, err := v.source(ctx).configMap(volume.ConfigMap.Name)
		return "", optionally(volume.ConfigMap.Optional, err)
	case volume.Secret != nil:
		_, err := v.source(ctx).secret(volume.Secret.SecretName)
		return "", optionally(volume.Secret.Optional, err)
	}
	// emptyDir, and an empty folder for what is not emulated (projected tokens, downward API, CSI).
	folder := filepath.Join(v.Folder, "volumes", volume.Name)
	return folder, os.MkdirAll(folder, 0o755)
}

// systemFolders exist on every machine, whether the emulation fills them or not.
var systemFolders = []string{"/", "/dev", "/proc", "/sys", "/etc", "/usr", "/lib", "/boot", "/run", "/var", "/opt"}

// hostPath checks a host path as the kubelet does (kubernetes pkg/volume/hostpath/host_path.go).
func hostPath(rootFS string, source *corev1.HostPathVolumeSource) (string, error) {
	real := filepath.Join(rootFS, filepath.Clean("/"+source.Path))
	for _, folder := range systemFolders {
		if filepath.Clean(source.Path) == folder {
			return real, os.MkdirAll(real, 0o755)
		}
	}
	kind := corev1.HostPathUnset
	if source.Type != nil {
		kind = *source.Type
	}
	info, err := os.Stat(real)
	failed := func(what string) (string, error) {
		return "", fmt.Errorf("hostPath type check failed: %s is not a %s", source.Path, what)
	}
	switch kind {
	case corev1.HostPathDirectory:
		if err != nil || !info.IsDir() {
			return failed("directory")
		}
	case corev1.HostPathFile:
		if err != nil || info.IsDir() {
			return failed("file")
		}
	case corev1.HostPathSocket:
		if err != nil || info.Mode()&os.ModeSocket == 0 {
			return failed("socket file")
		}
	case corev1.HostPathCharDev, corev1.HostPathBlockDev:
		if err != nil {
			return failed("device")
		}
	case corev1.HostPathFileOrCreate:
		file, err := os.OpenFile(real, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return "", err
		}
		return real, file.Close()
	default: // unset, DirectoryOrCreate: the runtime makes the missing folder
		if err != nil {
			return real, os.MkdirAll(real, 0o755)
		}
	}
	return real, nil
}

// claim is the folder of a bound claim.
func (v Volumes) claim(ctx context.Context, name string) (string, error) {
	claim, err := v.Client.CoreV1().PersistentVolumeClaims(v.Pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if claim.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("persistentvolumeclaim %q is not bound", name)
	}
	volume, err := v.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if volume.Spec.HostPath == nil {
		return "", fmt.Errorf("volume %s is no hostPath; the lab mounts only those of its own storage class", volume.Name)
	}
	return hostPath(v.RootFS, volume.Spec.HostPath)
}

// Mounts are a container's paths, inside to outside. Folders of ConfigMaps and Secrets are named but not yet written:
// what they hold is rewritten with the very paths computed here.
func Mounts(container *corev1.Container, folders map[string]string, own string) (map[string]string, []corev1.VolumeMount) {
	mounts := map[string]string{}
	var written []corev1.VolumeMount
	for _, mount := range container.VolumeMounts {
		outside := folders[mount.Name]
		if outside == "" {
			outside = filepath.Join(own, "files", mount.Name)
			written = append(written, mount)
		}
		if mount.SubPath != "" {
			outside = filepath.Join(outside, mount.SubPath)
		}
		mounts[mount.MountPath] = outside
	}
	return mounts, written
}

// Write fills the folders of ConfigMaps and Secrets for one container; rewrite is for the paths in scripts.
func (v Volumes) Write(ctx context.Context, written []corev1.VolumeMount, rewrite func(script string) string, own string) error {
	for _, mount := range written {
		files, mode, err := v.files(ctx, mount.Name)
		if err != nil {
			return err
		}
		folder := filepath.Join(own, "files", mount.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for name, content := range files {
			if strings.HasPrefix(content, "#!") || strings.HasSuffix(name, ".sh") {
				content = rewrite(content)
			}
			file := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			_ = os.Remove(file) // it may be there with a mode that forbids writing
			if err := os.WriteFile(file, []byte(content), mode); err != nil {
				return err
			}
		}
	}
	return nil
}

// files of a ConfigMap or Secret volume.
func (v Volumes) files(ctx context.Context, name string) (map[string]string, os.FileMode, error) {
	files := map[string]string{}
	for _, volume := range v.Pod.Spec.Volumes {
		if volume.Name != name {
			continue
		}
		switch {
		case volume.ConfigMap != nil:
			configMap, err := v.source(ctx).configMap(volume.ConfigMap.Name)
			if err != nil {
				return nil, 0, optionally(volume.ConfigMap.Optional, err)
			}
			for key, value := range configMap.Data {
				files[key] = value
			}
			return items(files, volume.ConfigMap.Items), mode(volume.ConfigMap.DefaultMode), nil
		case volume.Secret != nil:
			secret, err := v.source(ctx).secret(volume.Secret.SecretName)
			if err != nil {
				return nil, 0, optionally(volume.Secret.Optional, err)
			}
			for key, value := range secret.Data {
				files[key] = string(value)
			}
			return items(files, volume.Secret.Items), mode(volume.Secret.DefaultMode) &^ 0o077, nil
		}
	}
	return files, 0o644, nil
}

func items(files map[string]string, wanted []corev1.KeyToPath) map[string]string {
	if len(wanted) == 0 {
		return files
	}
	chosen := map[string]string{}
	for _, item := range wanted {
		if content, found := files[item.Key]; found {
			chosen[item.Path] = content
		}
	}
	return chosen
}

func mode(wanted *int32) os.FileMode {
	if wanted == nil {
		return 0o644
	}
	return os.FileMode(*wanted) & 0o777
}
