package inside

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/images"
	"talos-gpu/lab/machines/internal/talos/containerd"
)

//go:embed kubelet.yaml
var kubeletConfig string

// configureContainerd merges the machine's parts as Talos does. The lab's part sets the registry. It also
// restricts OOM scores if this computer does not allow lower ones.
func configureContainerd(spec *boot.Spec, network int) error {
	parts := maps.Clone(spec.CRIParts)
	parts["99-lab.part"] = fmt.Sprintf("[plugins.\"io.containerd.cri.v1.images\".registry]\n  config_path = %q\n[plugins.\"io.containerd.cri.v1.runtime\"]\n  restrict_oom_score_adj = %v\n", images.RegistryConfig, !files.MayLowerScores())
	merged, err := containerd.Merge(parts, host.Minor(spec.TalosVersion))
	if err != nil {
		return err
	}
	if err := files.Write("/etc/containerd/config.toml", merged); err != nil {
		return err
	}
	// Talos' base specification is containerd's without resource limits (talos
	// internal/app/machined/pkg/controllers/files/cri_base_runtime_spec.go).
	text, err := exec.Command("/usr/bin/ctr", "oci", "spec").Output()
	if err != nil {
		return fmt.Errorf("ctr oci spec: %w", err)
	}
	base := map[string]any{}
	if err := json.Unmarshal(text, &base); err != nil {
		return err
	}
	if process, ok := base["process"].(map[string]any); ok {
		delete(process, "rlimits")
	}
	if text, err = json.Marshal(base); err != nil {
		return err
	}
	if err := files.Write("/etc/cri/conf.d/base-spec.json", string(text)); err != nil {
		return err
	}
	return files.Write("/etc/cni/net.d/10-lab.conflist", fmt.Sprintf(`{"cniVersion":"1.0.0","name":"lab","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,
 "ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.%d.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}`, network))
}

// configureKubelet writes Talos' configuration (talos internal/app/machined/pkg/controllers/k8s/kubelet_spec.go). It
// differs where this computer differs:
//
//   - This computer may have control groups of version 1 and other kernel settings.
//   - Its disk does not belong to the node.
//   - The lab's API server has no certificate for kubelets.
//   - The node's status may be checked more often. The period of its reports, which would follow by default, stays the
//     same.
func configureKubelet(spec *boot.Spec) error {
	authority, err := identity.Load(spec.Server, spec.CACert, spec.CAKey)
	if err != nil {
		return err
	}
	node, err := authority.Node(spec.Name)
	if err != nil {
		return err
	}
	kubeconfig, err := identity.Kubeconfig("node", "lab", node)
	if err != nil {
		return err
	}
	taints, err := json.Marshal(append([]corev1.Taint{}, spec.RegisterWithTaints...))
	values := map[string]string{"statusEvery": spec.StatusEvery.String(), "taints": string(taints)}
	return errors.Join(err, files.Write("/etc/kubernetes/kubeconfig", string(kubeconfig)), files.Write("/etc/resolv.conf", "nameserver 127.0.0.1\n"),
		files.Write("/etc/kubernetes/kubelet.yaml", os.Expand(kubeletConfig, func(name string) string { return values[name] })))
}
