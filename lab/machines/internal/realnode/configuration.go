//go:build linux

package realnode

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"talos-gpu/lab/machines/internal/node/kubelet"
	"talos-gpu/lab/machines/internal/talos/containerd"
)

// configureContainerd merges Talos' part, the extension's and the machine's own as Talos does, with one of ours for what this computer lacks.
func configureContainerd(spec *Spec) error {
	parts := map[string]string{"00-base.part": containerd.BasePart(true)}
	if len(spec.Cards) > 0 || spec.RealDriver {
		parts["10-nvidia-container-runtime.part"] = containerd.NvidiaPart
	}
	maps.Copy(parts, spec.Parts)
	parts["99-lab.part"] = fmt.Sprintf("[plugins.\"io.containerd.cri.v1.images\".pinned_images]\n  sandbox = %q\n[plugins.\"io.containerd.cri.v1.runtime\"]\n  restrict_oom_score_adj = %v\n", pauseImage, !mayLowerScores())
	merged, err := containerd.Merge(parts)
	if err != nil {
		return err
	}
	if err := write("/etc/containerd/config.toml", merged); err != nil {
		return err
	}
	// Talos' base specification is containerd's own without limits of resources (talos internal/app/machined/pkg/controllers/files/cri_base_runtime_spec.go).
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
	if err := write("/etc/cri/conf.d/base-spec.json", string(text)); err != nil {
		return err
	}
	return write("/etc/cni/net.d/10-lab.conflist", fmt.Sprintf(`{"cniVersion":"1.0.0","name":"lab","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"ipMasq":false,
 "ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.%d.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}`, spec.Network))
}

// mayLowerScores says whether containers may be spared by the kernel when memory runs out, as those of guaranteed pods are (CAP_SYS_RESOURCE).
func mayLowerScores() bool {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var set uint64
		if _, err := fmt.Sscanf(line, "CapEff: %x", &set); err == nil {
			return set&(1<<24) != 0
		}
	}
	return false
}

// configureKubelet is Talos' configuration (talos internal/app/machined/pkg/controllers/k8s/kubelet_spec.go) but for what this computer is: it may have
// control groups of version 1 and other kernel settings, its disk is nobody's, and the lab's API server has no certificate for kubelets.
func configureKubelet(spec *Spec) error {
	authority, err := kubelet.LoadAuthority(spec.Server, spec.CACert, spec.CAKey)
	if err != nil {
		return err
	}
	identity, err := authority.Node(spec.Name)
	if err != nil {
		return err
	}
	config := api.NewConfig()
	config.CurrentContext = "node"
	config.Contexts["node"] = &api.Context{Cluster: "lab", AuthInfo: "node"}
	config.Clusters["lab"] = &api.Cluster{Server: identity.Host, CertificateAuthorityData: identity.CAData}
	config.AuthInfos["node"] = &api.AuthInfo{ClientCertificateData: identity.CertData, ClientKeyData: identity.KeyData}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := write("/etc/kubernetes/kubeconfig", string(text)); err != nil {
		return err
	}
	if err := write("/etc/resolv.conf", "nameserver 127.0.0.1\n"); err != nil {
		return err
	}
	return write("/etc/kubernetes/kubelet.yaml", `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }
authorization: { mode: AlwaysAllow }
cgroupDriver: cgroupfs
cgroupRoot: /
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
oomScoreAdj: 0
seccompDefault: true
protectKernelDefaults: false
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: /etc/resolv.conf
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: { memory.available: "1Mi", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%" }
shutdownGracePeriod: 0s
`)
}
