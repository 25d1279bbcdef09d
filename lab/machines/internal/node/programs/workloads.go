package programs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cudaFloor is the oldest driver that runs every minor version of a CUDA major
// (docs.nvidia.com/deploy/cuda-compatibility).
var cudaFloor = map[string]string{"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}

var cudaTag = regexp.MustCompile(`:.*cuda-?(\d+)\.`)

// vectorAdd is the CUDA sample, which allocates, adds and compares.
func vectorAdd(ctx context.Context, c *Container) int {
	if c.Machine.Clock().Sleep(ctx, 3*time.Second) != nil {
		return ExitTerminated
	}
	c.Logf("[Vector addition of 50000 elements]")
	if why := cannotCompute(c); why != "" {
		return c.Fails("Failed to allocate device vector A (error code %s)!", why)
	}
	c.Logf("Test PASSED\nDone")
	return 0
}

// cannotCompute returns the error of the CUDA runtime, or "" if the sample can compute.
func cannotCompute(c *Container) string {
	s, tag := c.Machine.Snapshot(), cudaTag.FindStringSubmatch(c.Spec.Image)
	switch {
	case !c.Libraries: // libcuda.so.1 is missing
		return "CUDA driver version is insufficient for CUDA runtime version"
	case len(c.GPUs) == 0:
		return "no CUDA-capable device is detected"
	case !slices.Contains(s.Modules, "nvidia_uvm"): // /dev/nvidia-uvm is missing (gpu-operator#2685)
		return "unknown error"
	case tag != nil && Compare(s.DriverVersion, cudaFloor[tag[1]]) < 0:
		return "CUDA driver version is insufficient for CUDA runtime version"
	}
	return ""
}

// server listens on its port after a start time. If it needs a card and has none, it fails with the text of needsCard.
func server(port int, start time.Duration, needsCard string) Program {
	return func(ctx context.Context, c *Container) int {
		if c.Machine.Clock().Sleep(ctx, start) != nil {
			return ExitTerminated
		}
		if needsCard != "" && len(c.GPUs) == 0 {
			return c.Fails("%s", needsCard)
		}
		return c.Serves(ctx, port, Well)
	}
}

// download is the time to download a model: 2 GB at 1 Gbit/s.
const download = 16 * time.Second

// ollama serves the part of the API that pulls models. It also serves without a card.
func ollama(ctx context.Context, c *Container) int {
	if len(c.Argv) > 1 && c.Argv[1] != "serve" { // ps, show or pull, in hooks
		return 0
	}
	if c.Machine.Clock().Sleep(ctx, 4*time.Second) != nil {
		return ExitTerminated
	}
	var mutex sync.Mutex
	models := []map[string]string{}
	mux := http.NewServeMux()
	mux.Handle("/", Well)
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"models": models})
	})
	mux.HandleFunc("POST /api/pull", func(w http.ResponseWriter, request *http.Request) {
		var body struct{ Model string }
		if json.NewDecoder(request.Body).Decode(&body) != nil || c.Machine.Clock().Sleep(request.Context(), download) != nil {
			return
		}
		mutex.Lock()
		defer mutex.Unlock()
		models = append(models, map[string]string{"name": body.Model})
		_, _ = w.Write([]byte(`{"status":"success"}`))
	})
	return c.Serves(ctx, 11434, mux)
}

// curl sends one request in the containers of a real node, as the Jobs that pull models do.
func curl(ctx context.Context, c *Container) int {
	url := c.Argv[len(c.Argv)-1]
	method, body := http.MethodGet, c.Argument("-d")
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return c.Fails("curl: %v", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.Logf("curl: (7) %v", err)
		return 7
	}
	defer response.Body.Close()
	if _, err := io.Copy(c.Output, response.Body); err != nil || response.StatusCode >= http.StatusBadRequest {
		c.Logf("curl: (22) The requested URL returned error: %d", response.StatusCode)
		return 22
	}
	return 0
}

// TagOf returns an image's tag, or "".
func TagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return tag
}

// Compare compares dotted numbers.
func Compare(a, b string) int {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(left), len(right)) {
		x, _ := strconv.Atoi(left[i])
		y, _ := strconv.Atoi(right[i])
		if x != y {
			return x - y
		}
	}
	return len(left) - len(right)
}

// linkGBps is the bandwidth of the machines' network, which has 100 Gbit/s.
const linkGBps = 11.6

// fabric is the stack's all-reduce (components/workloads/fabric.ts). It repeats until the cards are joined and the
// network reaches the required bandwidth.
func fabric(ctx context.Context, c *Container) int {
	least, _ := strconv.ParseFloat(c.Env["LEAST_BANDWIDTH"], 64) //nolint:errcheck // the stack sets a number
	for c.Machine.Clock().Sleep(ctx, 20*time.Second) == nil {
		said := fmt.Sprintf("fabric: all-reduce over %s machines: %.1f GB/s", c.Env["LWS_GROUP_SIZE"], linkGBps)
		switch why := c.notJoined(); {
		case why != "":
			c.Logf("%s\nfabric: the cards of the machines were not joined", why)
		case least > linkGBps:
			c.Logf("%s, below the floor of %g GB/s", said, least)
		default:
			c.Logf("%s", said)
			return 0
		}
	}
	return ExitTerminated
}

// vllm is the server of a model. It does not emulate that the pods of a group wait for each other.
func vllm(ctx context.Context, c *Container) int {
	if why := c.notJoined(); why != "" {
		return c.Fails("%s", why)
	}
	return server(8000, 60*time.Second, "RuntimeError: Failed to infer device type")(ctx, c)
}

// notJoined returns NCCL's error for processes with too little shared memory, or "". Several cards need more than a
// container's default of 64 MiB (containerd pkg/oci/mounts.go; docs.nvidia.com/deeplearning/nccl, troubleshooting).
func (c *Container) notJoined() string {
	if len(c.GPUs) < 2 || c.SharedMemory > 64<<20 {
		return ""
	}
	return "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nError: failed to extend /dev/shm/nccl-03v824 to 4194660 bytes"
}
