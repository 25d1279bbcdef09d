package cluster

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWorkloads: a server with a volume and probes, a script that reaches it by its Service, a hook that legacy Talos
// cannot run, and a script that is stopped with its pod.
func TestWorkloads(t *testing.T) {
	config, client := controlPlane(t)
	machine := newTestMachine(t)
	start(t, config, machine)
	ctx := context.Background()
	kubectl(t, config, pluginManifest+workloads)
	eventually(t, "the server to be ready", 30*time.Second, func() (bool, string) {
		deployment, err := client.AppsV1().Deployments("kube-system").Get(ctx, "ollama", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return deployment.Status.AvailableReplicas == 1, deployment.Status.String()
	})
	eventually(t, "the script to pull the model", 30*time.Second, func() (bool, string) {
		job, seen := jobOutcome(client, "kube-system", "pull")
		return job != nil && job.Status.Succeeded == 1 && strings.Contains(seen, `"status":"success"`) && strings.Contains(seen, "llama3.2:3b"), seen
	})
	eventually(t, "the hook to fail and its container to be killed", 30*time.Second, func() (bool, string) {
		pod, err := client.CoreV1().Pods("kube-system").Get(ctx, "hook", metav1.GetOptions{})
		if err != nil || len(pod.Status.ContainerStatuses) == 0 {
			return false, "no status"
		}
		// Why is told by an event alone.
		events, _ := client.CoreV1().Events("kube-system").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=hook,reason=FailedPostStartHook"})
		text, _ := json.Marshal(events)
		return pod.Status.ContainerStatuses[0].RestartCount > 0 && strings.Contains(string(text), "init 250 result=11"), string(text)
	})
	marker := filepath.Join(machine.root, "run/lab/marker")
	eventually(t, "the script's file on the machine", 10*time.Second, func() (bool, string) {
		text, err := os.ReadFile(marker)
		return strings.HasPrefix(string(text), "pid "), string(text) + errorOf(err)
	})
	text, _ := os.ReadFile(marker)
	process := strings.TrimSpace(strings.TrimPrefix(string(text), "pid "))
	if err := client.CoreV1().Pods("kube-system").Delete(ctx, "script", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the script to be stopped with its pod", 10*time.Second, func() (bool, string) {
		_, gone := os.Stat("/proc/" + process)
		_, err := client.CoreV1().Pods("kube-system").Get(ctx, "script", metav1.GetOptions{})
		return os.IsNotExist(gone) && err != nil, "process " + process
	})
	if said, err := os.ReadFile(marker); err != nil || string(said) != "stopped\n" {
		t.Errorf("the preStop hook left %q, %v", said, err)
	}
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
