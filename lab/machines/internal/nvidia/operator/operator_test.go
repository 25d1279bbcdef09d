package operator

import (
	"encoding/json"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"talos-gpu/lab/machines/internal/host"
)

func TestWantedLabels(t *testing.T) {
	const mig, plugin, vga = deployPrefix + "mig-manager", deployPrefix + "device-plugin", featurePrefix + "pci-0300_10de.present"
	for name, test := range map[string]struct{ has, want map[string]string }{
		"a user's no stays":              {map[string]string{vga: "true", plugin: "false"}, map[string]string{present: "true", plugin: "false"}},
		"what is empty is set":           {map[string]string{vga: "true", plugin: ""}, map[string]string{plugin: "true", mig: ""}},
		"a card that can be split":       {map[string]string{vga: "true", migCapable: "true"}, map[string]string{mig: "true"}},
		"no operands":                    {map[string]string{vga: "true", plugin: "true", deployPrefix + "operands": "false"}, map[string]string{plugin: ""}},
		"a node without a card":          {map[string]string{"a": "b"}, map[string]string{present: "", plugin: ""}},
		"a card that NFD sees no longer": {map[string]string{present: "true", plugin: "true"}, map[string]string{present: "false", plugin: ""}},
	} {
		for key, value := range wantedLabels(test.has) {
			if test.has[key] = ""; value != nil {
				test.has[key] = *value
			}
		}
		for key, want := range test.want {
			if test.has[key] != want {
				t.Errorf("%s: %s=%q, want %q", name, key, test.has[key], want)
			}
		}
	}
}

// All values except the first were seen with cmd/gpu-operator v25.10.1 and v26.3.3 on the releases of rtx5070ti and
// modern (lab/docs/conformance.md).
func TestVariablesOfOperands(t *testing.T) {
	for _, test := range []struct{ release, spec, operand, variable, want string }{
		{"v25.3.4", `{}`, "nvidia-device-plugin-daemonset", "DEVICE_LIST_STRATEGY", "envvar"},
		{"v25.10.1", `{}`, "nvidia-device-plugin-daemonset", "DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri"},
		{"v25.10.1", `{"cdi":{"enabled":false}}`, "nvidia-device-plugin-daemonset", "DEVICE_LIST_STRATEGY", "envvar"},
		{"v26.3.1", `{"devicePlugin":{"env":[{"name":"DEVICE_LIST_STRATEGY","value":"envvars"}]}}`, "nvidia-device-plugin-daemonset", "DEVICE_LIST_STRATEGY", "envvars"},
		{"v25.10.1", `{"devicePlugin":{"config":{"name":"sharing","default":"any"}}}`, "gpu-feature-discovery", "CONFIG_FILE", "/config/config.yaml"},
		{"v25.10.1", `{"mig":{"strategy":"single"}}`, "gpu-feature-discovery", "MIG_STRATEGY", "single"},
		{"v25.10.1", `{}`, "nvidia-mig-manager", "CONFIG_FILE", "/mig-parted-config/config.yaml"},
		{"v26.3.3", `{}`, "nvidia-mig-manager", "CONFIG_FILE", ""},
		{"v26.3.3", `{"toolkit":{"enabled":false}}`, "nvidia-device-plugin-daemonset", "NVIDIA_CDI_HOOK_PATH", ""},
		{"v26.7.0", `{"toolkit":{"installDir":"/var/lib/nvidia"}}`, "nvidia-device-plugin-daemonset", "NVIDIA_CDI_HOOK_PATH", "/var/lib/nvidia/toolkit/nvidia-cdi-hook"},
	} {
		p, got := policy{operatorImage: "nvcr.io/nvidia/gpu-operator:" + test.release}, ""
		if err := json.Unmarshal([]byte(test.spec), &p.policySpec); err != nil {
			t.Fatal(err)
		}
		for _, o := range p.operands() {
			for _, variable := range p.daemonSet(o).Spec.Template.Spec.Containers[0].Env {
				if o.Name == test.operand && variable.Name == test.variable {
					got = variable.Value
				}
			}
		}
		if got != test.want {
			t.Errorf("%s %s: %s=%s, want %s", test.release, test.spec, test.variable, got, test.want)
		}
	}
}

func TestNRI(t *testing.T) {
	p := policy{operatorImage: "nvcr.io/nvidia/gpu-operator:v26.7.0"}
	p.CDI.NRI = true
	all := map[string]string{}
	for _, o := range p.operands() {
		template := p.daemonSet(o).Spec.Template
		if template.Spec.RuntimeClassName != nil {
			t.Errorf("%s names a RuntimeClass", o.Name)
		}
		maps.Copy(all, template.Annotations)
	}
	for _, container := range []string{"toolkit-validation", "nvidia-device-plugin", "gpu-feature-discovery"} {
		if all["nvidia.cdi.k8s.io/container."+container] != "management.nvidia.com/gpu=all" {
			t.Errorf("%s gets no cards: %v", container, all)
		}
	}
}

func TestImageReference(t *testing.T) {
	for want, said := range map[string]component{
		"x/gpu-operator:v1": {}, "r/i:v2": {Repository: "r", Image: "i", Version: "v2"}, "r/i:v1": {Repository: "r", Image: "i"},
		"r/i@sha256:ab": {Repository: "r", Image: "i", Version: "sha256:ab"},
	} {
		if got := said.reference("x/gpu-operator:v1"); got != want {
			t.Errorf("%+v: %s", said, got)
		}
	}
}

func TestLabelsThatNobodySaysAnyMoreGo(t *testing.T) {
	const own, name = featurePrefix + "pci-0300_10de.present", "gpu-1"
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": "7"}}})
	for _, says := range []map[string]string{{own: "true", "nvidia.com/gpu.product": "H100"}, {own: "true"}, {own: "false"}, nil} {
		if err := label(t.Context(), client, map[string]map[string]string{name: says}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"rack": "7"}
		maps.Copy(want, says)
		if now, _ := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !maps.Equal(now.Labels, want) {
			t.Errorf("after %v: labels %v", says, now.Labels)
		}
	}
}

func TestDevicesOfAConfiguration(t *testing.T) {
	h100 := host.GPU{MIG: &host.MIG{Profiles: map[string]int{"1g.12gb": 7, "7g.94gb": 1}, Balanced: map[string]int{"1g.12gb": 2}}}
	for name, want := range map[string]map[string]int{
		"all-1g.12gb": {"1g.12gb": 7}, "all-1g.12gb.me": {"1g.12gb+me": 1}, "all-balanced": h100.MIG.Balanced, "all-disabled": nil,
	} {
		if got, known := devicesOf(h100, name); !known || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, known)
		}
	}
	if _, known := devicesOf(h100, "all-1g.18gb"); known {
		t.Error("all-1g.18gb is a profile of another card")
	}
	if _, known := devicesOf(host.GPU{}, "all-1g.12gb"); known {
		t.Error("a card without MIG has MIG devices")
	}
}
