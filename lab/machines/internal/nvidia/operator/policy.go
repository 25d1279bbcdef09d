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
)

// policies is the resource that the operator's chart installs.
var policies = schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}

// defaultInstallDir is the driver's folder if the policy does not set one (DefaultDriverInstallDir).
const defaultInstallDir = "/run/nvidia/driver"

// policySpec has the fields of a ClusterPolicy that the lab's operator uses (api/nvidia/v1/clusterpolicy_types.go).
type policySpec struct {
	Operator struct {
		RuntimeClass string `json:"runtimeClass"`
	} `json:"operator"`
	Daemonsets struct {
		Labels      map[string]string   `json:"labels"`
		Tolerations []corev1.Toleration `json:"tolerations"`
	} `json:"daemonsets"`
	DevicePlugin struct {
		component
		Config struct {
			Name    string `json:"name"`
			Default string `json:"default"`
		} `json:"config"`
	} `json:"devicePlugin"`
	Toolkit struct {
		component
		InstallDir string `json:"installDir"`
	} `json:"toolkit"`
	GFD          component `json:"gfd"`
	DCGMExporter component `json:"dcgmExporter"`
	MIG          struct {
		Strategy string `json:"strategy"`
	} `json:"mig"`
	MIGManager component `json:"migManager"`
	Validator  struct {
		component
		Driver  component `json:"driver"`
		Toolkit component `json:"toolkit"`
		CUDA    component `json:"cuda"`
		Plugin  component `json:"plugin"`
	} `json:"validator"`
	CDI struct {
		Enabled *bool `json:"enabled"`
		NRI     bool  `json:"nriPluginEnabled"`
	} `json:"cdi"`
	HostPaths struct {
		DriverInstallDir string `json:"driverInstallDir"`
	} `json:"hostPaths"`
}

// component has the fields that every operand has.
type component struct {
	Enabled    *bool           `json:"enabled"`
	Repository string          `json:"repository"`
	Image      string          `json:"image"`
	Version    string          `json:"version"`
	Args       []string        `json:"args"`
	Env        []corev1.EnvVar `json:"env"`
}

// enabled is true unless the policy disables the component.
func (c component) enabled() bool { return c.Enabled == nil || *c.Enabled }

// reference returns the image's reference. The default of the image is the operator's image, and the default of the
// version is the operator's tag.
func (c component) reference(operator string) string {
	if c.Image == "" {
		return operator
	}
	name, tag := strings.TrimPrefix(c.Repository+"/"+c.Image, "/"), c.Version
	if strings.HasPrefix(tag, "sha256:") {
		return name + "@" + tag
	}
	if tag == "" {
		tag = operator[strings.LastIndexByte(operator, ':')+1:]
	}
	return name + ":" + tag
}

// policy is a ClusterPolicy and what the operator derives from it for its operands.
type policy struct {
	policySpec
	owner     metav1.OwnerReference
	namespace string
	// operatorImage is the default of the validator's image. Its tag is the operator's release.
	operatorImage string
}

func parsePolicy(object *unstructured.Unstructured) (policySpec, error) {
	spec := policySpec{}
	spec.HostPaths.DriverInstallDir, spec.Operator.RuntimeClass, spec.Toolkit.InstallDir = defaultInstallDir, "nvidia", "/usr/local/nvidia"
	encoded, err := json.Marshal(object.Object["spec"])
	if err != nil {
		return spec, err
	}
	return spec, json.Unmarshal(encoded, &spec)
}

// atLeast compares the operator's version, e.g. v25.10.1.
func (p policy) atLeast(year, month int) bool {
	var has [2]int
	_, _ = fmt.Sscanf(p.operatorImage[strings.LastIndexByte(p.operatorImage, ':')+1:], "v%d.%d", &has[0], &has[1])
	return has[0] > year || has[0] == year && has[1] >= month
}

// cdi reports whether CDI is enabled. It is the default since v25.10.
func (p policy) cdi() bool {
	if p.CDI.Enabled != nil {
		return *p.CDI.Enabled
	}
	return p.atLeast(25, 10)
}

// withOverrides replaces variables by those of the same name.
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
