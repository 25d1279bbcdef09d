package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/tool"
)

// TestMain lets containers' scripts call emulated programs by way of this test binary.
func TestMain(m *testing.M) {
	if handled, code := tool.Run(os.Args[1:]); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// controlPlane starts the lab's control plane, named by LAB_CONTROLPLANE. Without one, there is nothing to test against.
func controlPlane(t *testing.T) (Config, kubernetes.Interface) {
	binary := os.Getenv("LAB_CONTROLPLANE")
	if binary == "" {
		t.Skip("LAB_CONTROLPLANE does not name the control plane's binary (lab/controlplane)")
	}
	command := exec.Command(binary, "up", "--dir", filepath.Join(t.TempDir(), "control-plane"))
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the control plane did not start: %v", err)
	}
	var ready struct {
		Server, AdminKubeconfig string
		CA                      struct{ Cert, Key string }
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("LAB_KUBECONFIG"); keep != "" {
		text, _ := os.ReadFile(ready.AdminKubeconfig)
		_ = os.WriteFile(keep, text, 0o600)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.AdminKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Server: ready.Server, AdminKubeconfig: ready.AdminKubeconfig, CACert: ready.CA.Cert, CAKey: ready.CA.Key}, client
}

// eventually waits until a condition holds, saying what for.
func eventually(t *testing.T, what string, limit time.Duration, holds func() (bool, string)) {
	t.Helper()
	last := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ok, seen := holds()
		if ok {
			return
		}
		last = seen
	}
	t.Fatalf("waited %s for %s; last seen: %s", limit, what, last)
}

func start(t *testing.T, config Config, machines ...host.Machine) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config, machines, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func kubectl(t *testing.T, config Config, manifest string) {
	t.Helper()
	command := exec.Command("kubectl", "--kubeconfig", config.AdminKubeconfig, "apply", "-f", "-")
	command.Stdin = strings.NewReader(manifest)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func jobOutcome(client kubernetes.Interface, namespace, name string) (*batchv1.Job, string) {
	job, err := client.BatchV1().Jobs(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil, err.Error()
	}
	pods, _ := client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{LabelSelector: "job-name=" + name})
	seen, _ := json.Marshal(job.Status)
	for _, pod := range pods.Items {
		text, _ := json.Marshal(pod.Status.ContainerStatuses)
		seen = append(seen, text...)
		seen = append(seen, pod.Status.Message...)
		log, _ := client.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(context.Background())
		seen = append(seen, log...)
	}
	return job, string(seen)
}

func allocatable(client kubernetes.Interface, node string) (string, bool) {
	object, err := client.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{})
	if err != nil {
		return err.Error(), false
	}
	quantity, found := object.Status.Allocatable["nvidia.com/gpu"]
	return quantity.String(), found
}

// TestStandalonePlugin is the seed aarhus-h100 in small: RuntimeClass, plugin DaemonSet, smoke test, reboot.
func TestStandalonePlugin(t *testing.T) {
	config, client := controlPlane(t)
	machine := newTestMachine(t)
	start(t, config, machine)
	ctx := context.Background()
	eventually(t, "a ready node", 20*time.Second, func() (bool, string) {
		node, err := client.CoreV1().Nodes().Get(ctx, machine.name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return node.Labels["extensions.talos.dev/nvidia-container-toolkit-production"] != "" && len(node.Spec.Taints) == 0, "labels or taints"
			}
		}
		return false, "not ready"
	})
	kubectl(t, config, pluginManifest)
	eventually(t, "one allocatable GPU", 20*time.Second, func() (bool, string) {
		count, _ := allocatable(client, machine.name)
		return count == "1", count
	})
	kubectl(t, config, strings.ReplaceAll(smokeTest, "NAME", "smoke-1"))
	eventually(t, "the smoke test to pass", 20*time.Second, func() (bool, string) {
		job, seen := jobOutcome(client, "kube-system", "smoke-1")
		return job != nil && job.Status.Succeeded == 1 && strings.Contains(seen, "Test PASSED"), seen
	})
	machine.change(func(s *host.Snapshot) { s.KubeletRunning, s.Booted = false, false })
	eventually(t, "the node not to be ready while it reboots", 10*time.Second, func() (bool, string) {
		node, _ := client.CoreV1().Nodes().Get(ctx, machine.name, metav1.GetOptions{})
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionFalse, condition.Message
			}
		}
		return false, "no condition"
	})
	machine.change(func(s *host.Snapshot) { s.KubeletRunning, s.Booted, s.BootID = true, true, "boot-2" })
	eventually(t, "the plugin to run again and the GPU to come back", 20*time.Second, func() (bool, string) {
		pods, _ := client.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "app=plugin"})
		if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
			return false, "no plugin pod"
		}
		count, _ := allocatable(client, machine.name)
		restarts := pods.Items[0].Status.ContainerStatuses[0].RestartCount
		return count == "1" && restarts == 1, count + " GPUs"
	})
	// A fix is missing: the runtime refuses, with the kernel's words.
	machine.change(func(s *host.Snapshot) { s.Sysctls = nil })
	kubectl(t, config, strings.ReplaceAll(smokeTest, "NAME", "smoke-2"))
	eventually(t, "the BPF filter's error", 20*time.Second, func() (bool, string) {
		_, seen := jobOutcome(client, "kube-system", "smoke-2")
		return strings.Contains(seen, "last insn is not an exit or jmp"), seen
	})
	// The plugin goes: nothing is allocatable.
	if err := client.AppsV1().DaemonSets("kube-system").Delete(ctx, "plugin", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no allocatable GPU", 20*time.Second, func() (bool, string) {
		count, _ := allocatable(client, machine.name)
		return count == "0", count
	})
}

// TestNodeRestriction: a forbidden label keeps every label of a worker off (talos#8193).
func TestNodeRestriction(t *testing.T) {
	config, client := controlPlane(t)
	worker, control := newTestMachine(t), newTestMachine(t)
	worker.snapshot.NodeLabels = map[string]string{"node-role.kubernetes.io/gpu": "true", "nvidia.com/gpu.present": "true"}
	control.name, control.address, control.role = "control", "192.168.1.1", "controlplane"
	control.snapshot.NodeLabels = worker.snapshot.NodeLabels
	start(t, config, worker, control)
	eventually(t, "the control plane's labels and taint", 20*time.Second, func() (bool, string) {
		node, err := client.CoreV1().Nodes().Get(context.Background(), "control", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		_, role := node.Labels["node-role.kubernetes.io/control-plane"]
		tainted := false
		for _, taint := range node.Spec.Taints {
			tainted = tainted || taint.Key == "node-role.kubernetes.io/control-plane"
		}
		return role && tainted && node.Labels["node-role.kubernetes.io/gpu"] == "true", "labels"
	})
	eventually(t, "the API server to refuse the worker's labels", 20*time.Second, func() (bool, string) {
		said := strings.Join(worker.said(), "; ")
		return strings.Contains(said, "could not label the node") && strings.Contains(said, "node-role.kubernetes.io/gpu"), said
	})
	node, err := client.CoreV1().Nodes().Get(context.Background(), worker.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["nvidia.com/gpu.present"] != "" || node.Labels["node-role.kubernetes.io/gpu"] != "" {
		t.Errorf("NodeRestriction let labels through: %v", node.Labels)
	}
}
