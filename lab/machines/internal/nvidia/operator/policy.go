package operator

import (
	"encoding/json"
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
	Driver       component `json:"driver"`
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
	name := c.Image
	if c.Repository != "" {
		name = c.Repository + "/" + c.Image
	}
	switch {
	case c.Version == "":
		_, tag, _ := strings.Cut(otherwise[strings.LastIndexByte(otherwise, '/')+1:], ":")
		if tag == "" {
			return name
		}
		return name + ":" + tag
	case strings.HasPrefix(c.Version, "sha256:"):
		return name + "@" + c.Version
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
	// talos is the Talos version of the nodes, for the driver image's tag.
	talos string
}

func parsePolicy(object *unstructured.Unstructured) (policySpec, error) {
	spec := policySpec{}
	encoded, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return spec, err
	}
	err = json.Unmarshal(encoded, &spec)
	if spec.HostPaths.DriverInstallDir == "" {
		spec.HostPaths.DriverInstallDir = defaultInstallDir
	}
	if spec.HostPaths.RootFS == "" {
		spec.HostPaths.RootFS = "/"
	}
	if spec.Operator.RuntimeClass == "" {
		spec.Operator.RuntimeClass = "nvidia"
	}
	return spec, err
}

// withOverrides puts the policy's variables over the operator's own; the policy's win.
func withOverrides(own []corev1.EnvVar, overrides ...[]corev1.EnvVar) []corev1.EnvVar {
	merged := append([]corev1.EnvVar{}, own...)
	for _, list := range overrides {
		for _, variable := range list {
			replaced := false
			for i := range merged {
				if merged[i].Name == variable.Name {
					merged[i], replaced = variable, true
				}
			}
			if !replaced {
				merged = append(merged, variable)
			}
		}
	}
	return merged
}

func environment(pairs ...string) []corev1.EnvVar {
	var list []corev1.EnvVar
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}
