package inputs

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Env is the environment of a container. Later wins, and the order is the kubelet's: the image's, the device
// plugin's, the pod's (kubernetes v1.36 pkg/kubelet/kubelet_pods.go, GenerateRunContainerOptions: the plugin's variables
// come first, those of the pod after). So NVIDIA_VISIBLE_DEVICES in a pod beats the devices that were allocated.
func Env(image []corev1.EnvVar, devices map[string]string, pod *corev1.Pod, container *corev1.Container, from Source) (map[string]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": pod.Name}
	for _, variable := range image {
		env[variable.Name] = variable.Value
	}
	for name, value := range devices {
		env[name] = value
	}
	for _, source := range container.EnvFrom {
		if err := addAll(env, source, from); err != nil {
			return nil, err
		}
	}
	for _, variable := range container.Env {
		value, set, err := valueOf(variable, env, pod, container, from)
		if err != nil {
			return nil, err
		}
		if set {
			env[variable.Name] = value
		}
	}
	return env, nil
}

func addAll(env map[string]string, source corev1.EnvFromSource, from Source) error {
	if ref := source.ConfigMapRef; ref != nil {
		configMap, err := from.configMap(ref.Name)
		if err != nil {
			return optionally(ref.Optional, err)
		}
		for key, value := range configMap.Data {
			env[source.Prefix+key] = value
		}
	}
	if ref := source.SecretRef; ref != nil {
		secret, err := from.secret(ref.Name)
		if err != nil {
			return optionally(ref.Optional, err)
		}
		for key, value := range secret.Data {
			env[source.Prefix+key] = string(value)
		}
	}
	return nil
}

func valueOf(variable corev1.EnvVar, env map[string]string, pod *corev1.Pod, container *corev1.Container, from Source) (value string, set bool, err error) {
	source := variable.ValueFrom
	switch {
	case source == nil:
		return Expand(variable.Value, env), true, nil
	case source.FieldRef != nil:
		return field(source.FieldRef.FieldPath, pod, from), true, nil
	case source.ResourceFieldRef != nil:
		quantity := container.Resources.Limits[corev1.ResourceName(strings.TrimPrefix(source.ResourceFieldRef.Resource, "limits."))]
		return strconv.FormatInt(quantity.Value(), 10), true, nil
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		configMap, err := from.configMap(ref.Name)
		if err == nil {
			if value, found := configMap.Data[ref.Key]; found {
				return value, true, nil
			}
			err = fmt.Errorf("couldn't find key %s in ConfigMap %s/%s", ref.Key, pod.Namespace, ref.Name)
		}
		return "", false, optionally(ref.Optional, err)
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		secret, err := from.secret(ref.Name)
		if err == nil {
			if value, found := secret.Data[ref.Key]; found {
				return string(value), true, nil
			}
			err = fmt.Errorf("couldn't find key %s in Secret %s/%s", ref.Key, pod.Namespace, ref.Name)
		}
		return "", false, optionally(ref.Optional, err)
	}
	return "", false, nil
}

// Expand replaces $(NAME) by variables that are set already; $$ stands for a dollar (kubernetes third_party/forked/golang/expansion).
func Expand(text string, env map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		if strings.HasPrefix(rest, "$$") {
			out.WriteByte('$')
			i++
			continue
		}
		if strings.HasPrefix(rest, "$(") {
			if end := strings.IndexByte(rest, ')'); end > 0 {
				if value, known := env[rest[2:end]]; known {
					out.WriteString(value)
				} else {
					out.WriteString(rest[:end+1])
				}
				i += end
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func field(path string, pod *corev1.Pod, from Source) string {
	key := func(prefix string) string { return strings.TrimSuffix(strings.TrimPrefix(path, prefix+"['"), "']") }
	switch {
	case path == "metadata.name":
		return pod.Name
	case path == "metadata.namespace":
		return pod.Namespace
	case path == "metadata.uid":
		return string(pod.UID)
	case path == "spec.nodeName":
		return pod.Spec.NodeName
	case path == "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName
	case path == "status.podIP", path == "status.podIPs":
		return from.podIP
	case path == "status.hostIP", path == "status.hostIPs":
		return from.hostIP
	case strings.HasPrefix(path, "metadata.labels['"):
		return pod.Labels[key("metadata.labels")]
	case strings.HasPrefix(path, "metadata.annotations['"):
		return pod.Annotations[key("metadata.annotations")]
	}
	return ""
}
