package programs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scripts are scripts of the stack and of the GPU Operator. Each has a text that only this script contains, and its
// outcome.
var scripts = []struct {
	has     string
	outcome func(context.Context, *Container, Rule) int
}{
	{"/markers/$marker", keepMarkers},
	{"$WATTS", limitPower},
	{"/api/pull", func(ctx context.Context, c *Container, _ Rule) int { return c.after(ctx, download, 0) }},
	{"-f " + Validations + "/toolkit-ready", func(ctx context.Context, c *Container, _ Rule) int {
		if !c.waitFor(ctx, "toolkit-ready") {
			return ExitTerminated
		}
		return 0
	}},
	{"MIG $PROFILE ", isSlice},
	{"/dev/nvidia[0-9]*", looksOn},
	{"/bin/entrypoint.sh", entrypoint},
	{"all validations are successful", validated},
}

// Validations is the folder of the GPU Operator's marker files.
const Validations = "/run/nvidia/validations"

// after returns an exit code after a delay.
func (c *Container) after(ctx context.Context, wait time.Duration, code int) int {
	if c.Machine.Clock().Sleep(ctx, wait) != nil {
		return ExitTerminated
	}
	return code
}

// Marker returns the path of a marker file.
func (c *Container) Marker(name string) string { return filepath.Join(c.Root, Validations, name) }

// WriteMarker writes a marker file atomically, so that no reader sees half of it.
func (c *Container) WriteMarker(name string, content []byte) error {
	file := c.Marker(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func (c *Container) waitFor(ctx context.Context, marker string) bool {
	for {
		if _, err := os.Stat(c.Marker(marker)); err == nil {
			return true
		}
		if c.Machine.Clock().Sleep(ctx, 5*time.Second) != nil {
			return false
		}
	}
}

// keepMarkers writes the marker files while the driver is loaded. It writes a deleted file again.
func keepMarkers(ctx context.Context, c *Container, _ Rule) int {
	for {
		if !slices.Contains(c.Machine.Snapshot().Modules, "nvidia") {
			c.Logf("the NVIDIA driver is not loaded (no /proc/driver/nvidia/version): no markers")
		} else {
			for _, marker := range strings.Fields(c.Env["MARKERS"]) {
				content, err := c.Read("/markers/" + marker)
				if err == nil {
					err = c.WriteMarker(marker, content)
				}
				if err != nil {
					return c.Fails("%v", err)
				}
			}
			c.Ready()
		}
		if c.Machine.Clock().Sleep(ctx, 30*time.Second) != nil {
			return ExitTerminated
		}
	}
}

// limitPower accepts every limit. On a real node, the substitute of nvidia-smi decides which limits a card accepts.
func limitPower(ctx context.Context, c *Container, _ Rule) int {
	if !c.Libraries || len(c.GPUs) == 0 {
		return c.Fails("power limit: nvidia-smi cannot switch persistence mode on: is the driver loaded?")
	}
	for _, card := range c.GPUs {
		c.Logf("card %d: %.2f W -> %s W", card.Index, card.DefaultPowerW, c.Env["WATTS"])
	}
	return c.Rests(ctx)
}

// isSlice is the part of the smoke test that checks the container's MIG profile.
func isSlice(_ context.Context, c *Container, _ Rule) int {
	for _, card := range c.GPUs {
		for _, slice := range card.Slices {
			if slice.Profile == c.Env["PROFILE"] {
				return 0
			}
		}
	}
	return c.Fails("the device is no MIG %s", c.Env["PROFILE"])
}

// looksOn is the smoke test's container that requests no card. It reports the cards that it sees.
func looksOn(_ context.Context, c *Container, _ Rule) int {
	if len(c.GPUs) == 0 {
		return 0
	}
	c.Message = "sees"
	for _, card := range c.GPUs {
		c.Message += fmt.Sprintf(" nvidia%d", card.Index)
	}
	c.Message += ", and asked for no card"
	code, _ := strconv.Atoi(c.Env["CODE"])
	return code
}

// entrypoint waits for driver-ready, adds its content to the environment, and starts the image's program (gpu-operator
// assets/state-device-plugin/0400_configmap.yaml). The MIG manager's entrypoint makes it stop the host's services if
// the driver is the host's (assets/state-mig-manager/0420_configmap.yaml). A stack can prevent that.
func entrypoint(ctx context.Context, c *Container, r Rule) int {
	if !c.waitFor(ctx, "driver-ready") {
		return ExitTerminated
	}
	text, err := os.ReadFile(c.Marker("driver-ready"))
	if err != nil {
		return c.Fails("%v", err)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, is := strings.Cut(strings.TrimSpace(line), "="); is {
			c.Env[name] = value
		}
	}
	c.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] = c.Env["IS_HOST_DRIVER"]
	if strings.Contains(strings.Join(c.Argv, " "), "WITH_SHUTDOWN_HOST_GPU_CLIENTS") {
		c.Env["WITH_SHUTDOWN_HOST_GPU_CLIENTS"] = "false"
	}
	return r.Programs[r.Entrypoint[0]](ctx, c)
}

// validated is the validator after its validations. It removes the marker files when it stops.
func validated(ctx context.Context, c *Container, _ Rule) int {
	code := c.Rests(ctx)
	markers, _ := filepath.Glob(c.Marker("*-ready"))
	for _, marker := range markers {
		_ = os.Remove(marker)
	}
	return code
}
