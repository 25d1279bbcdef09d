// Package rules says what containers do, by image. Each rule is a table entry with its source; the programs are beside it.
package rules

import (
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/rules/deviceplugin"
)

// bakedIn is what NVIDIA's CUDA images set: a pod on the nvidia runtime that requests nothing sees every card.
var bakedIn = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}, {Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "compute,utility"}}

type programs = map[string]cri.Program

// Table of the images that need no more than their node. Images of the GPU Operator are in package operator, which also
// gives gpu-feature-discovery, a program of the device plugin's image.
func Table(discovery cri.Program) []cri.Rule {
	return []cri.Rule{
		{
			Image: regexp.MustCompile(`(^|/)(busybox|alpine|ubuntu|debian)(:|@|$)`),
			About: "shell and utilities: run for real with those of this computer, in the machine's files",
			Pull:  2 * time.Second, Entrypoint: []string{"sh"},
		},
		{
			Image: regexp.MustCompile(`(^|/)(curlimages/curl|curl/curl)(:|@|$)`),
			About: "scripts run for real; curl reaches Services of the cluster",
			Pull:  2 * time.Second, Entrypoint: []string{"curl"},
		},
		{
			Image: regexp.MustCompile(`(^|/)k8s-device-plugin(:|@|$)`),
			About: "k8s-device-plugin v0.17 to v0.20 cmd/nvidia-device-plugin, cmd/config-manager",
			Env:   bakedIn, Pull: 15 * time.Second, Entrypoint: []string{"nvidia-device-plugin"},
			Programs: programs{"nvidia-device-plugin": deviceplugin.Run, "config-manager": deviceplugin.ManageConfig, "gpu-feature-discovery": discovery},
		},
		{
			Image: regexp.MustCompile(`cuda-sample:(vectoradd|nbody)`),
			About: "CUDA samples: docs.nvidia.com/deploy/cuda-compatibility decides whether they run",
			Env:   bakedIn, Pull: 12 * time.Second, Entrypoint: []string{"vectorAdd"},
			Programs: programs{"vectorAdd": vectorAdd, "vectoradd": vectorAdd, "nbody": vectorAdd},
		},
		{
			Image: regexp.MustCompile(`(^|/)nvidia/cuda(:|@|$)|nvcr\.io/nvidia/cuda(:|@|$)`),
			About: "CUDA base images: shell, and nvidia-smi where the runtime brings it",
			Env:   bakedIn, Pull: 20 * time.Second, Entrypoint: []string{"bash"},
		},
		{
			Image: regexp.MustCompile(`(^|/)ollama/ollama(:|@|$)`),
			About: "ollama's HTTP API (github.com/ollama/ollama docs/api.md): version, tags, ps, pull; no model runs",
			Env:   append([]corev1.EnvVar{{Name: "OLLAMA_HOST", Value: "0.0.0.0:11434"}}, bakedIn...), Pull: 40 * time.Second,
			Entrypoint: []string{"ollama", "serve"}, Programs: programs{"ollama": ollama},
		},
		{
			Image: regexp.MustCompile(`(?i)comfyui`),
			About: "ComfyUI's server (server.py): /, /system_stats, /queue; no graph runs",
			Env:   bakedIn, Pull: 90 * time.Second, Entrypoint: []string{"comfyui"}, Programs: programs{"comfyui": comfyUI},
		},
		{
			Image: regexp.MustCompile(`(^|/)vllm/vllm-openai(:|@|$)`),
			About: "vLLM's OpenAI server: /health, /v1/models, /version; no model runs",
			Env:   bakedIn, Pull: 120 * time.Second, Entrypoint: []string{"vllm", "serve"}, Programs: programs{"vllm": vLLM, "python3": vLLM},
		},
		{
			Image: regexp.MustCompile(`(^|/)berriai/litellm(:|@|$)`),
			About: "LiteLLM's proxy (docs/my-website/docs/proxy/health.md): health, /v1/models of its configuration; no request is routed",
			Pull:  30 * time.Second, Entrypoint: []string{"litellm"}, Programs: programs{"litellm": liteLLM},
		},
	}
}
