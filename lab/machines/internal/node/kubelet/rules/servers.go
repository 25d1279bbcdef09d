package rules

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/smi"
)

// firstPort of the container's declared ports, or a default.
func firstPort(c *cri.Container, otherwise int) int {
	if len(c.Spec.Ports) > 0 {
		return int(c.Spec.Ports[0].ContainerPort)
	}
	return otherwise
}

// comfyUI is main.py and its server: without a card it does not start (comfy/model_management.py: torch's error).
func comfyUI(ctx context.Context, c *cri.Container) int {
	if c.Machine.Clock().Sleep(ctx, 15*time.Second) != nil {
		return 143
	}
	if len(c.GPUs) == 0 {
		c.Logf("RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver")
		return 1
	}
	if why := torchError(c); why != "" {
		c.Logf("%s", why)
		return 1
	}
	card := c.GPUs[0]
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<!DOCTYPE html><title>ComfyUI</title>"))
	})
	mux.HandleFunc("GET /queue", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"queue_running": []any{}, "queue_pending": []any{}})
	})
	mux.HandleFunc("GET /system_stats", func(w http.ResponseWriter, _ *http.Request) {
		bytes := int64(card.MemoryMiB) << 20
		answer(w, map[string]any{
			"system":  map[string]any{"os": "posix", "python_version": "3.12", "embedded_python": false},
			"devices": []any{map[string]any{"name": "cuda:0 " + smi.ProductName(card.Model), "type": "cuda", "index": 0, "vram_total": bytes, "vram_free": bytes}},
		})
	})
	port := firstPort(c, 8188)
	c.Logf("To see the GUI go to: http://0.0.0.0:%d", port)
	if err := c.Serve(ctx, port, mux); err != nil {
		c.Logf("%v", err)
		return 1
	}
	return 143
}

// torchError checks the CUDA that the image's tag names (cu128 is 12.8) against the driver.
func torchError(c *cri.Container) string {
	found := torchTag.FindStringSubmatch(c.Spec.Image)
	if found == nil {
		return ""
	}
	number, _ := strconv.Atoi(found[1])
	why := cudaError(number/10, number%10, c.Machine.Snapshot().DriverVersion, c.GPUs[0].ComputeCapability)
	if why == "" {
		return ""
	}
	return "RuntimeError: CUDA error: " + why
}
