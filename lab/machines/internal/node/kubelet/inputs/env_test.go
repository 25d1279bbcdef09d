package inputs

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestEnv(t *testing.T) {
	optional := true
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}}
	container := &corev1.Container{Env: []corev1.EnvVar{
		{Name: "GREETING", Value: "hello $(NAME) $$(NAME) $(UNKNOWN)"},
		{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		{Name: "MISSING", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "a", Optional: &optional}}},
	}}
	from := Source{configMap: func(string) (*corev1.ConfigMap, error) { return nil, errors.New(`configmap "x" not found`) }}
	image := []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}, {Name: "NAME", Value: "world"}}
	devices := map[string]string{"NVIDIA_VISIBLE_DEVICES": "GPU-1"}

	env, err := Env(image, devices, pod, container, from)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"GREETING": "hello world $(NAME) $(UNKNOWN)", "NODE": "node", "NVIDIA_VISIBLE_DEVICES": "GPU-1",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	if _, set := env["MISSING"]; set {
		t.Error("an optional variable without a source is set")
	}

	container.Env = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}
	if env, _ = Env(image, devices, pod, container, from); env["NVIDIA_VISIBLE_DEVICES"] != "all" {
		t.Error("the pod's own NVIDIA_VISIBLE_DEVICES must win over the device plugin's")
	}
	container.Env[0] = corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "a"}}}
	if _, err = Env(nil, nil, pod, container, from); err == nil {
		t.Error("a missing ConfigMap must be an error")
	}
}
