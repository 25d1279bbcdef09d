package operator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// policies is the resource that the operator's chart installs.
var policies = schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}

// defaultInstallDir is where the driver is looked for where the policy says nothing (DefaultDriverInstallDir).
const defaultInstallDir = "/run/nvidia/driver"

// policySpec is the part of a ClusterPolicy that the lab honours (api/nvidia/v1/clusterpolicy_types.go).
type policySpec struct {
	Operator struct {
		RuntimeClass string `json:"runtimeClass"`
	} `json:"operator"`
	Daemonsets struct {
		Labels            map[string]string   `json:"labels"`
		Annotations       map[string]string   `json:"annotations"`
		PriorityClassName string              `json:"priorityClassName"`
		Tolerations       []corev1.Toleration `json:"tolerations"`
		UpdateStrategy    string              `json:"updateStrategy"`
		RollingUpdate     struct {
			MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
		} `json:"rollingUpdate"`
	} `json:"daemonsets"`
	Toolkit      component `json:"toolkit"`
	DevicePlugin struct {
		component
		Config struct {
			Name    string `json:"name"`
			Default string `json:"default"`
		} `json:"config"`
	} `json:"devicePlugin"`
	GFD          component `json:"gfd"`
	DCGM         component `json:"dcgm"`
	DCGMExporter component `json:"dcgmExporter"`
	MIG          struct {
		Strategy string `json:"strategy"`
	} `json:"mig"`
	MIGManager struct {
		component
		Config struct {
			Name string `json:"name"`
		} `json:"config"`
	} `json:"migManager"`
	Validator struct {
		component
		Driver  withEnv `json:"driver"`
		Toolkit withEnv `json:"toolkit"`
		CUDA    withEnv `json:"cuda"`
		Plugin  withEnv `json:"plugin"`
	} `json:"validator"`
	CDI struct {
		Enabled *bool `json:"enabled"`
	} `json:"cdi"`
	HostPaths struct {
		RootFS           string `json:"rootFS"`
		DriverInstallDir string `json:"driverInstallDir"`
	} `json:"hostPaths"`
}

type withEnv struct {
	Env []corev1.EnvVar `json:"env"`
}

// component is what every operand has.
type component struct {
	Enabled         *bool                        `json:"enabled"`
	Repository      string                       `json:"repository"`
	Image           string                       `json:"image"`
	Version         string                       `json:"version"`
	ImagePullPolicy corev1.PullPolicy            `json:"imagePullPolicy"`
	Args            []string                     `json:"args"`
	Env             []corev1.EnvVar              `json:"env"`
	Resources       *corev1.ResourceRequirements `json:"resources"`
}

// enabled is true unless the policy says otherwise.
func (c component) enabled() bool { return c.Enabled == nil || *c.Enabled }

// reference of the image; a missing part falls back.
func (c component) reference(otherwise string) string {
	if c.Image == "" {
		return otherwise
	}
	name := strings.TrimPrefix(c.Repository+"/"+c.Image, "/")
	switch {
	case strings.HasPrefix(c.Version, "sha256:"):
		return name + "@" + c.Version
	case c.Version == "":
		_, tag, _ := strings.Cut(otherwise[strings.LastIndexByte(otherwise, '/')+1:], ":")
		return strings.TrimSuffix(name+":"+tag, ":")
	}
	return name + ":" + c.Version
}

// policy is a ClusterPolicy with what the operator derives for its operands.
type policy struct {
	spec      policySpec
	owner     metav1.OwnerReference
	namespace string
	// operatorImage stands in for a validator image that is not set.
	operatorImage string
}

func parsePolicy(object *unstructured.Unstructured) (policySpec, error) {
	spec := policySpec{}
	spec.HostPaths.DriverInstallDir, spec.HostPaths.RootFS, spec.Operator.RuntimeClass = defaultInstallDir, "/", "nvidia"
	encoded, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return spec, err
	}
	return spec, json.Unmarshal(encoded, &spec)
}

func (p policy) validatorImage() string { return p.spec.Validator.reference(p.operatorImage) }

// atLeast compares the operator's version, e.g. v25.10.1.
func (p policy) atLeast(year, month int) bool {
	_, tag, _ := strings.Cut(p.operatorImage[strings.LastIndexByte(p.operatorImage, '/')+1:], ":")
	var has [2]int
	_, _ = fmt.Sscanf(tag, "v%d.%d", &has[0], &has[1])
	return has[0] > year || has[0] == year && has[1] >= month
}

// cdi is on by default since v25.10.
func (p policy) cdi() bool {
	if p.spec.CDI.Enabled != nil {
		return *p.spec.CDI.Enabled
	}
	return p.atLeast(25, 10)
}

// withOverrides puts variables over others of the same name.
func withOverrides(own []corev1.EnvVar, overrides ...[]corev1.EnvVar) []corev1.EnvVar {
	merged := slices.Clone(own)
	for _, variable := range slices.Concat(overrides...) {
		at := slices.IndexFunc(merged, func(have corev1.EnvVar) bool { return have.Name == variable.Name })
		if at < 0 {
			merged = append(merged, variable)
		} else {
			merged[at] = variable
		}
	}
	return merged
}

func environment(pairs ...string) (list []corev1.EnvVar) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

// fields are variables that say something of the pod.
func fields(pairs ...string) (list []corev1.EnvVar) {
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, corev1.EnvVar{Name: pairs[i], ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: pairs[i+1]}}})
	}
	return list
}
