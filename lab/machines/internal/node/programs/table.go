package programs

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Program behaves as a program of an image does: it runs until it is done or ctx ends, and gives the exit code.
type Program func(ctx context.Context, c *Container) int

// Programs of an image by name.
type Programs = map[string]Program

// Rule says what containers of an image come to.
type Rule struct {
	// Image is matched against the whole reference.
	Image *regexp.Regexp
	// About is what is emulated and after which source.
	About string
	// Env is baked into the image.
	Env []corev1.EnvVar
	// Pull is how long the image takes to pull and unpack, in lab time.
	Pull time.Duration
	// Entrypoint is the argv of a container that names no command.
	Entrypoint []string
	Programs   Programs
}

// BakedIn is what NVIDIA's CUDA images set: a pod on the nvidia runtime that requests nothing sees every card.
var BakedIn = []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}, {Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "compute,utility"}}

// Table of the images that need no more than their node. Those of the GPU Operator are in package operator, which also gives
// gpu-feature-discovery, a program of the device plugin's image.
func Table(discovery Program) []Rule {
	return []Rule{
		{
			Image: regexp.MustCompile(`(^|/)(busybox|alpine|ubuntu|debian)(:|@|$)`), About: "a shell",
			Pull: 2 * time.Second, Entrypoint: []string{"sh"},
		},
		{
			Image: regexp.MustCompile(`(^|/)(curlimages/curl|curl/curl)(:|@|$)`), About: "curl, as far as the Jobs need it that pull models",
			Pull: 2 * time.Second, Entrypoint: []string{"curl"}, Programs: Programs{"curl": curl},
		},
		{
			Image: regexp.MustCompile(`(^|/)k8s-device-plugin(:|@|$)`), About: "k8s-device-plugin v0.17 to v0.20 cmd/nvidia-device-plugin, cmd/config-manager",
			Env: BakedIn, Pull: 15 * time.Second, Entrypoint: []string{"nvidia-device-plugin"},
			Programs: Programs{"nvidia-device-plugin": devicePlugin, "config-manager": configManager, "gpu-feature-discovery": discovery},
		},
		{
			Image: regexp.MustCompile(`(^|/)dra-driver-nvidia-gpu(:|@|$)`), About: "dra-driver-nvidia-gpu v0.5.0 cmd/gpu-kubelet-plugin, hack/kubelet-plugin-prestart.sh",
			Pull: 15 * time.Second, Programs: Programs{"kubelet-plugin-prestart.sh": draPrestart, "gpu-kubelet-plugin": draDriver},
		},
		{
			Image: regexp.MustCompile(`cuda-sample:(vectoradd|nbody)`), About: "CUDA samples: docs.nvidia.com/deploy/cuda-compatibility decides whether they run",
			Env: BakedIn, Pull: 12 * time.Second, Entrypoint: []string{"vectorAdd"}, Programs: Programs{"vectorAdd": vectorAdd},
		},
		{
			Image: regexp.MustCompile(`(^|/)nvidia/cuda(:|@|$)|nvcr\.io/nvidia/cuda(:|@|$)`), About: "CUDA base images: a shell, and nvidia-smi where the runtime brings it",
			Env: BakedIn, Pull: 20 * time.Second, Entrypoint: []string{"bash"},
		},
		{
			Image: regexp.MustCompile(`(^|/)ollama/ollama(:|@|$)`), About: "ollama's HTTP API (github.com/ollama/ollama docs/api.md): tags, pull; no model runs",
			Env: BakedIn, Pull: 40 * time.Second, Entrypoint: []string{"ollama", "serve"}, Programs: Programs{"ollama": ollama},
		},
		{
			Image: regexp.MustCompile(`(?i)comfyui`), About: "ComfyUI's server: no graph runs. Without a card it does not start (comfy/model_management.py: torch's error)",
			Env: BakedIn, Pull: 90 * time.Second, Entrypoint: []string{"comfyui"},
			Programs: Programs{"comfyui": server(8188, 15*time.Second, "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver")},
		},
		{
			Image: regexp.MustCompile(`(^|/)vllm/vllm-openai(:|@|$)`), About: "vLLM's OpenAI server, over several machines too: no model runs; and the stack's all-reduce before it",
			Env: BakedIn, Pull: 120 * time.Second, Entrypoint: []string{"vllm", "serve"},
			Programs: Programs{"vllm": vllm, "python3": fabric},
		},
		{
			Image: regexp.MustCompile(`(^|/)berriai/litellm(:|@|$)`), About: "LiteLLM's proxy: no request is routed",
			Pull: 30 * time.Second, Entrypoint: []string{"litellm"}, Programs: Programs{"litellm": server(4000, 10*time.Second, "")},
		},
	}
}

// RuleOf an image; one by which everything just runs where there is none.
func RuleOf(rules []Rule, image string) Rule {
	for _, rule := range rules {
		if rule.Image.MatchString(image) {
			return rule
		}
	}
	return Rule{Pull: 8 * time.Second}
}

// CommandOf is what the container runs: command and args over the image's entrypoint (Kubernetes' rule: a command replaces
// the image's entrypoint and default arguments; args alone go to the entrypoint).
func (r Rule) CommandOf(container *corev1.Container) []string {
	switch {
	case len(container.Command) > 0:
		return append(append([]string{}, container.Command...), container.Args...)
	case len(container.Args) > 0 && len(r.Entrypoint) > 0:
		return append([]string{r.Entrypoint[0]}, container.Args...)
	}
	return append(append([]string{}, r.Entrypoint...), container.Args...)
}

// Run runs the container's argv: a program of its image, or a script, of which the emulated commands run, one after the other.
// What nobody knows counts as a server that is up.
func (r Rule) Run(ctx context.Context, c *Container) int {
	if len(c.Argv) == 0 {
		return c.Rests(ctx)
	}
	name := path.Base(c.Argv[0])
	if program, known := r.Programs[name]; known {
		return program(ctx, c)
	}
	if program, known := everywhere[name]; known {
		return program(ctx, c)
	}
	if name != "sh" && name != "bash" {
		c.Logf("lab: %s of %s is not emulated; the container stays running", name, c.Spec.Image)
		return c.Rests(ctx)
	}
	text := strings.Join(c.Argv[1:], "\n")
	for _, script := range scripts {
		if strings.Contains(text, script.has) {
			return script.outcome(ctx, c, r)
		}
	}
	return r.script(ctx, c, strings.TrimPrefix(text, "-c\n"))
}

// separators of a script's commands.
var separators = regexp.MustCompile(`;|&&|\|\||\n|$`)

// script runs the emulated commands of a script without loops; any other command counts as one that did its work.
func (r Rule) script(ctx context.Context, c *Container, text string) (code int) {
	between := ";"
	for text != "" {
		at := separators.FindStringIndex(text)
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(text[:at[0]]), "exec "))
		skipped := between == "&&" && code != 0 || between == "||" && code == 0
		between, text = text[at[0]:at[1]], text[at[1]:]
		if skipped || len(fields) == 0 {
			continue
		}
		program := r.Programs[path.Base(fields[0])]
		if program == nil {
			program = everywhere[fields[0]]
		}
		if code = 0; program == nil {
			continue
		}
		running := *c
		running.Argv = fields
		if code = program(ctx, &running); fields[0] == "exit" || ctx.Err() != nil {
			return code
		}
	}
	return code
}

// everywhere are programs of any image. A loop goes on until the container is stopped.
var everywhere = Programs{
	"nvidia-smi": nvidiaSMI, "sleep": sleep, "while": goesOn, "until": goesOn, "tail": goesOn, "false": exits(1), "true": exits(0),
	"exit": func(_ context.Context, c *Container) int {
		code, _ := strconv.Atoi(strings.Join(c.Argv[1:], ""))
		return code
	},
}

func goesOn(ctx context.Context, c *Container) int { return c.Rests(ctx) }

func exits(code int) Program { return func(context.Context, *Container) int { return code } }

func sleep(ctx context.Context, c *Container) int {
	if c.Ready != nil {
		c.Ready()
	}
	seconds, err := strconv.Atoi(strings.Join(c.Argv[1:], ""))
	if err != nil {
		return c.Rests(ctx) // infinity
	}
	if c.Machine.Clock().Sleep(ctx, time.Duration(seconds)*time.Second) != nil {
		return ExitTerminated
	}
	return 0
}

// nvidiaSMI lists the container's cards, and changes nothing.
func nvidiaSMI(_ context.Context, c *Container) int {
	switch {
	case !c.Libraries:
		c.Logf("nvidia-smi: not found")
		return 127
	case len(c.GPUs) == 0:
		c.Logf("No devices were found")
		return 6
	}
	for _, card := range c.GPUs {
		c.Logf("GPU %d: %s (UUID: %s)", card.Index, card.ProductName(), card.UUID)
		for _, slice := range card.Slices {
			c.Logf("  MIG %-11s Device %2d: (UUID: %s)", slice.Profile, slice.Index, slice.UUID)
		}
	}
	return 0
}
