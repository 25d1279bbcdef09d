package operator

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

func applied(labels map[string]string) map[string]string {
	for key, value := range wantedLabels(labels) {
		if value == nil {
			delete(labels, key)
		} else {
			labels[key] = *value
		}
	}
	return labels
}

func TestWantedLabels(t *testing.T) {
	labels := applied(map[string]string{nodelabels.FeaturePCIVGA: "true", nodelabels.DeployPrefix + "operator-validator": "false", nodelabels.DeployPrefix + "dcgm": ""})
	for key, want := range map[string]string{nodelabels.Present: "true", nodelabels.DeployPrefix + "device-plugin": "true", nodelabels.DeployPrefix + "operator-validator": "false", nodelabels.DeployPrefix + "dcgm": "true"} {
		if labels[key] != want {
			t.Errorf("%s=%q, want %q", key, labels[key], want)
		}
	}
	if _, set := labels[nodelabels.DeployMIG]; set {
		t.Error("a card without MIG needs no mig-manager")
	}
	if again := wantedLabels(labels); len(again) != 0 {
		t.Errorf("a second round changes %v", again)
	}
	if labels = applied(map[string]string{nodelabels.FeaturePCI: "true", nodelabels.Product: "NVIDIA-H100-NVL"}); labels[nodelabels.DeployMIG] != "true" {
		t.Error("an H100 gets the mig-manager")
	}
	if changes := wantedLabels(map[string]string{"a": "b"}); len(changes) > 0 {
		t.Errorf("a node without GPU: %v", changes)
	}
	if labels = applied(map[string]string{nodelabels.Present: "true", nodelabels.DeployPrefix + "driver": "true"}); labels[nodelabels.Present] != "false" || labels[nodelabels.DeployPrefix+"driver"] != "" {
		t.Errorf("gpu.present without NFD's label counts as gone: %v", labels)
	}
}

// podOf an operand of a policy, by the label that deploys it.
func podOf(t *testing.T, image, spec, deploy string) corev1.PodSpec {
	t.Helper()
	p := policy{operatorImage: image}
	if err := json.Unmarshal([]byte(spec), &p.spec); err != nil {
		t.Fatal(err)
	}
	for _, o := range p.operands() {
		if o.deploy == deploy {
			return p.daemonSet(o).Spec.Template.Spec
		}
	}
	t.Fatal("no operand " + deploy)
	return corev1.PodSpec{}
}

func envOf(container corev1.Container) map[string]string {
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	return env
}

func TestDevicePluginEnv(t *testing.T) {
	const off = `"toolkit":{"enabled":false}`
	for _, test := range []struct{ image, spec, want string }{
		{"nvcr.io/nvidia/gpu-operator:v25.10.1", `{` + off + `}`, "cdi-annotations,cdi-cri"},
		{"nvcr.io/nvidia/gpu-operator:v25.3.4", `{` + off + `}`, "envvar"},
		{"nvcr.io/nvidia/gpu-operator:v25.3.4", `{"cdi":{"enabled":true}}`, "envvar,cdi-annotations"},
		{"nvcr.io/nvidia/gpu-operator:v25.10.1", `{"cdi":{"enabled":false}}`, "envvar"},
		{"nvcr.io/nvidia/gpu-operator:v26.3.1", `{"devicePlugin":{"env":[{"name":"DEVICE_LIST_STRATEGY","value":"envvars"}]}}`, "envvars"},
	} {
		if got := envOf(podOf(t, test.image, test.spec, "device-plugin").Containers[0])["DEVICE_LIST_STRATEGY"]; got != test.want {
			t.Errorf("%s %s: %s, want %s", test.image, test.spec, got, test.want)
		}
	}
}

func TestOperandsFollowThePolicy(t *testing.T) {
	p := policy{operatorImage: "nvcr.io/nvidia/gpu-operator:v25.10.1", namespace: "gpu"}
	spec := `{"operator":{"runtimeClass":"nvidia"},"driver":{"enabled":false},"toolkit":{"enabled":false},"migManager":{"enabled":false},
		"daemonsets":{"tolerations":[{"key":"gpu","operator":"Exists"}],"rollingUpdate":{"maxUnavailable":"25%"}},
		"devicePlugin":{"repository":"nvcr.io/nvidia","image":"k8s-device-plugin","version":"v0.18.1","config":{"name":"sharing","default":"any"}}}`
	if err := json.Unmarshal([]byte(spec), &p.spec); err != nil {
		t.Fatal(err)
	}
	var unwanted []string
	for _, o := range p.operands() {
		if !o.enabled() {
			unwanted = append(unwanted, o.name)
			continue
		}
		set := p.daemonSet(o)
		pod := set.Spec.Template.Spec
		if *pod.RuntimeClassName != "nvidia" || pod.NodeSelector[nodelabels.DeployPrefix+o.deploy] != "true" || pod.Tolerations[0].Key != "gpu" ||
			set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable.String() != "25%" {
			t.Errorf("%s: %+v", o.name, pod)
		}
	}
	if got := strings.Join(unwanted, " "); got != "nvidia-dcgm nvidia-mig-manager" {
		t.Errorf("unwanted: %s", got)
	}
	plugin := podOf(t, p.operatorImage, spec, "device-plugin")
	if len(plugin.Containers) != 2 || len(plugin.InitContainers) != 2 || plugin.Containers[0].Image != "nvcr.io/nvidia/k8s-device-plugin:v0.18.1" {
		t.Errorf("with a sharing configuration, config-manager runs beside the plugin: %+v", plugin)
	}
}

// Seen of cmd/gpu-operator v25.10.1 and v26.3.3 on the releases of rtx5070ti and modern (docs/conformance.md).
func TestTheDriversFolderIsToldWhereItIsNotTheDefault(t *testing.T) {
	for dir, told := range map[string]bool{defaultInstallDir: false, "/usr/local": true} {
		said := envOf(podOf(t, "", `{"hostPaths":{"driverInstallDir":"`+dir+`"}}`, "operator-validator").InitContainers[0])
		if (said["DRIVER_INSTALL_DIR"] == dir) != told || (said["DRIVER_INSTALL_DIR_CTR_PATH"] == dir) != told {
			t.Errorf("%s: %v", dir, said)
		}
	}
}

// Seen of the same.
func TestOperandsAreNamedAsTheOperatorNamesThem(t *testing.T) {
	var p policy
	if err := json.Unmarshal([]byte(`{"daemonsets":{"labels":{"helm.sh/chart":"gpu-operator-v26.3.3"}}}`), &p.spec); err != nil {
		t.Fatal(err)
	}
	seen := map[string][2]string{ // service account and app.kubernetes.io/part-of
		"nvidia-operator-validator":      {"nvidia-operator-validator", "gpu-operator"},
		"nvidia-device-plugin-daemonset": {"nvidia-device-plugin", ""},
		"nvidia-dcgm-exporter":           {"nvidia-dcgm-exporter", ""},
		"gpu-feature-discovery":          {"nvidia-gpu-feature-discovery", "nvidia-gpu"},
	}
	for _, o := range p.operands() {
		want, found := seen[o.name]
		if !found {
			continue
		}
		set := p.daemonSet(o)
		labels := map[string]string{"app": o.name}
		if want[1] != "" {
			labels["app.kubernetes.io/part-of"] = want[1]
		}
		if set.Spec.Template.Spec.ServiceAccountName != want[0] || !maps.Equal(set.Spec.Selector.MatchLabels, labels) {
			t.Errorf("%s: %s, %v", o.name, set.Spec.Template.Spec.ServiceAccountName, set.Spec.Selector.MatchLabels)
		}
		labels["app.kubernetes.io/managed-by"], labels["helm.sh/chart"] = "gpu-operator", "gpu-operator-v26.3.3"
		if !maps.Equal(set.Labels, labels) || !maps.Equal(set.Spec.Template.Labels, labels) {
			t.Errorf("%s: %v, %v", o.name, set.Labels, set.Spec.Template.Labels)
		}
		delete(seen, o.name)
	}
	if len(seen) > 0 {
		t.Errorf("not there: %v", seen)
	}
}

func TestGPULabels(t *testing.T) {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "RTX 5070 Ti", PCIDevice: "0300_10de", Count: 1, MemoryMiB: 16303, ComputeCapability: "12.0"}}})
	labels := gpuLabels(host.Snapshot{DriverVersion: "570.211.01"}, cards, programs.Offer{Replicas: 2})
	for key, want := range map[string]string{
		"nvidia.com/gpu.product": "NVIDIA-GeForce-RTX-5070-Ti-SHARED", "nvidia.com/gpu.memory": "16303", "nvidia.com/gpu.family": "blackwell",
		"nvidia.com/gpu.compute.major": "12", "nvidia.com/gpu.compute.minor": "0", "nvidia.com/gpu.replicas": "2", "nvidia.com/gpu.sharing-strategy": "time-slicing",
		"nvidia.com/cuda.driver-version.full": "570.211.01", "nvidia.com/cuda.runtime.major": "12", "nvidia.com/cuda.runtime.minor": "8", "nvidia.com/mig.capable": "false",
	} {
		if labels[key] != want {
			t.Errorf("%s=%q, want %q", key, labels[key], want)
		}
	}
}

func TestImageReference(t *testing.T) {
	for _, test := range []struct {
		component component
		want      string
	}{
		{component{}, "x/gpu-operator:v1"},
		{component{Repository: "r", Image: "i", Version: "v2"}, "r/i:v2"},
		{component{Repository: "r", Image: "i", Version: "sha256:ab"}, "r/i@sha256:ab"},
		{component{Repository: "r", Image: "i"}, "r/i:v1"},
	} {
		if got := test.component.reference("x/gpu-operator:v1"); got != test.want {
			t.Errorf("%+v: %s", test.component, got)
		}
	}
}

var h100 = host.GPU{Model: "H100 NVL", Count: 2, ComputeCapability: "9.0", MIG: &host.MIG{}}

func TestMIGManagerOperand(t *testing.T) {
	for image, want := range map[string]string{
		"nvcr.io/nvidia/gpu-operator:v25.10.1": "CONFIG_FILE=/mig-parted-config/config.yaml",
		"nvcr.io/nvidia/gpu-operator:v26.3.3":  "DEFAULT_CONFIG_FILE=/mig-parted-config/config-default.yaml",
	} {
		name, value, _ := strings.Cut(want, "=")
		if env := envOf(podOf(t, image, "{}", "mig-manager").Containers[0]); env[name] != value {
			t.Errorf("%s: %v", image, env)
		}
	}
}

func by(strategy string) programs.Offer {
	offer := programs.Offer{Replicas: 1}
	offer.Flags.MIGStrategy = strategy
	return offer
}

func TestResourceLabels(t *testing.T) {
	cards := func(profiles ...string) []gpu.Card {
		list := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{h100}})
		for i := range list {
			list[i].Split = len(profiles) > 0
			for index, profile := range profiles {
				list[i].Slices = append(list[i].Slices, gpu.Slice{Index: index, UUID: fmt.Sprint(index), Profile: profile})
			}
		}
		return list
	}
	for _, test := range []struct {
		name    string
		cards   []gpu.Card
		sharing programs.Offer
		want    map[string]string
	}{
		{"single, not split", cards(), by("single"), map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.count": "2", "nvidia.com/mig.strategy": "single"}},
		{"single", cards("1g.12gb", "1g.12gb"), by("single"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-1g.12gb", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.slices.gi": "1"}},
		{"single, unlike", cards("1g.12gb", "2g.24gb"), by("single"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL-MIG-INVALID", "nvidia.com/gpu.count": "0"}},
		{"mixed", cards("3g.47gb", "1g.12gb+me"), by("mixed"), map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/gpu.replicas": "0", "nvidia.com/mig-3g.47gb.count": "2",
			"nvidia.com/mig-1g.12gb.me.product": "NVIDIA-H100-NVL-MIG-1g.12gb.me", "nvidia.com/mig-3g.47gb.slices.ci": "3"}},
	} {
		labels := resourceLabels(test.cards, test.sharing)
		for key, want := range test.want {
			if labels[key] != want {
				t.Errorf("%s: %s=%q, want %q", test.name, key, labels[key], want)
			}
		}
	}
}
