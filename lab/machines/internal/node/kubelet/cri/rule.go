package cri

import (
	"context"
	"path"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Program behaves as a program of an image does: it runs until it is done or ctx ends, and returns the exit code.
type Program func(ctx context.Context, c *Container) int

// Rule says how containers of an image behave.
type Rule struct {
	// Image is matched against the whole reference.
	Image *regexp.Regexp
	// About is what is emulated and after which source.
	About string
	// Env is baked into the image.
	Env []corev1.EnvVar
	// Pull is how long the image takes to pull and unpack, in lab time; 0 is commonPull.
	Pull time.Duration
	// Absent, when set, is why the image cannot be pulled.
	Absent string
	// Entrypoint is the argv of a container that names no command.
	Entrypoint []string
	// Programs of the image by name: emulated, also when a real shell script of the image calls them.
	Programs map[string]Program
}

// commonPull is the time of an image that no rule knows: some hundred MiB over 1 Gbit/s, and unpacking.
const commonPull = 8 * time.Second

// ruleOf finds the rule of an image; the zero rule when there is none.
func ruleOf(rules []Rule, image string) Rule {
	for _, rule := range rules {
		if rule.Image.MatchString(image) {
			return rule
		}
	}
	return Rule{About: "starts and stays running: nothing of this image is emulated", Pull: commonPull}
}

// PullTime is how long the image takes to pull and unpack, in lab time.
func (r Rule) PullTime() time.Duration {
	if r.Pull == 0 {
		return commonPull
	}
	return r.Pull
}

// CommandOf is what the container runs: command and args over the image's entrypoint (Kubernetes' rule: a command replaces
// the image's entrypoint and default arguments; args alone go to the entrypoint).
func (r Rule) CommandOf(container *corev1.Container) []string {
	if len(container.Command) > 0 {
		return append(append([]string{}, container.Command...), container.Args...)
	}
	if len(r.Entrypoint) == 0 {
		return append([]string{}, container.Args...)
	}
	return append(append([]string{}, r.Entrypoint[0]), argsOr(container.Args, r.Entrypoint[1:])...)
}

func argsOr(args, otherwise []string) []string {
	if len(args) > 0 {
		return args
	}
	return otherwise
}

// shells are run for real, with the host's shell of the same name.
var shells = map[string]bool{"sh": true, "bash": true, "ash": true, "dash": true}

// utilities of BusyBox and coreutils that containers run directly. They are run for real too.
var utilities = map[string]bool{
	"sleep": true, "true": true, "false": true, "echo": true, "test": true, "[": true, "cat": true, "ls": true, "touch": true,
	"mkdir": true, "rm": true, "cp": true, "mv": true, "env": true, "date": true, "printf": true, "timeout": true, "grep": true,
	"stat": true, "chmod": true, "ln": true, "head": true, "tail": true, "id": true, "uname": true,
}

func runsForReal(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	name := path.Base(argv[0])
	return shells[name] || utilities[name]
}
