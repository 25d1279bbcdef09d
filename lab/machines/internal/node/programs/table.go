package programs

import (
	"context"
	_ "embed"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Program emulates a program of an image. It runs until it is done or ctx ends, and returns the exit code.
type Program func(ctx context.Context, c *Container) int

// Programs has the programs of an image by name.
type Programs = map[string]Program

// Rule says what the containers of an image do (images.yaml).
type Rule struct {
	Image      *regexp.Regexp
	Env        []corev1.EnvVar
	Pull       metav1.Duration
	Entrypoint []string
	Has        []string
	Programs   Programs `json:"-"`
}

//go:embed images.yaml
var images []byte

// own has the programs that need nothing but their node.
var own = Programs{
	"curl": curl, "nvidia-device-plugin": devicePlugin, "config-manager": configManager, "kubelet-plugin-prestart.sh": draPrestart, "gpu-kubelet-plugin": draDriver,
	"vectorAdd": vectorAdd, "ollama": ollama, "vllm": vllm, "python3": fabric, "litellm": server(4000, 10*time.Second, ""),
	"manage-crds": exits(0), "kubectl": exits(0), "cleanup-gpuclusters": exits(0),
	"dcgm-exporter": server(9400, 5*time.Second, "Failed to initialize NVML: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory"),
	"comfyui":       server(8188, 15*time.Second, "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"),
}

// Rules returns the rules of all images. others has programs that also need the cluster.
func Rules(others ...Programs) (rules []Rule) {
	if err := yaml.UnmarshalStrict(images, &rules); err != nil {
		panic(err)
	}
	all := maps.Clone(own)
	for _, more := range others {
		maps.Copy(all, more)
	}
	for i, rule := range rules {
		rules[i].Programs = Programs{}
		for _, name := range rule.Has {
			rules[i].Programs[name] = all[name]
		}
	}
	return rules
}

// RuleOf returns the rule of an image. For an unknown image it returns a rule without
// programs.
func RuleOf(rules []Rule, image string) (rule Rule, known bool) {
	at := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Image.MatchString(image) })
	if at < 0 {
		return Rule{Pull: metav1.Duration{Duration: 8 * time.Second}}, false
	}
	return rules[at], true
}

// CommandOf returns what the container runs. A command replaces the image's entrypoint and default arguments, and args
// alone are appended to the entrypoint (Kubernetes' rule).
func (r Rule) CommandOf(container *corev1.Container) []string {
	switch {
	case len(container.Command) > 0:
		return append(append([]string{}, container.Command...), container.Args...)
	case len(container.Args) > 0 && len(r.Entrypoint) > 0:
		return append([]string{r.Entrypoint[0]}, container.Args...)
	}
	return append(append([]string{}, r.Entrypoint...), container.Args...)
}

// Run runs the container's argv: a program of the image, or a script, whose emulated commands run one after the other.
// An unknown program counts as a server that is up.
func (r Rule) Run(ctx context.Context, c *Container) int {
	if len(c.Argv) == 0 {
		return c.Rests(ctx)
	}
	if program := r.find(c.Argv); program != nil {
		return program(ctx, c)
	}
	if name := path.Base(c.Argv[0]); name != "sh" && name != "bash" {
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

// find returns the program of the image or of every image. It returns nil for a program that is not emulated.
func (r Rule) find(argv []string) Program {
	if len(argv) == 0 {
		return nil
	}
	if program := r.Programs[path.Base(argv[0])]; program != nil {
		return program
	}
	return everywhere[path.Base(argv[0])]
}

// separators separate the commands of a script.
var separators = regexp.MustCompile(`;|&&|\|\||\n`)

// script runs the emulated commands of a script without loops, until one fails. Every other command counts as
// successful.
func (r Rule) script(ctx context.Context, c *Container, text string) (code int) {
	for _, command := range separators.Split(text, -1) {
		running := *c
		running.Argv = strings.Fields(strings.TrimPrefix(strings.TrimSpace(command), "exec "))
		if program := r.find(running.Argv); program != nil {
			if code = program(ctx, &running); code != 0 || ctx.Err() != nil {
				return code
			}
		}
	}
	return 0
}

// everywhere has programs that every image has. A loop runs until the container is stopped.
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
		return c.Rests(ctx) // sleep infinity
	}
	if c.Machine.Clock().Sleep(ctx, time.Duration(seconds)*time.Second) != nil {
		return ExitTerminated
	}
	return 0
}

// nvidiaSMI lists the container's cards. It ignores all options.
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
