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

// cudaFloor is the oldest driver that runs any minor version of a CUDA major (docs.nvidia.com/deploy/cuda-compatibility).
var cudaFloor = map[string]string{"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}

var cudaTag = regexp.MustCompile(`:.*cuda-?(\d+)\.`)

// vectorAdd is the CUDA sample: it allocates, adds, and compares.
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

// cannotCompute is the CUDA runtime's word; "" where the sample computes.
func cannotCompute(c *Container) string {
	s, tag := c.Machine.Snapshot(), cudaTag.FindStringSubmatch(c.Spec.Image)
	switch {
	case !c.Libraries: // libcuda.so.1 is not there
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

// server listens on its port a while after its start, where it has the card that it needs; without one it says why not.
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

// download is how long a model takes: 2 GB at 1 Gbit/s.
const download = 16 * time.Second

// ollama serves the API as far as models are pulled by it. It needs no card, and serves without one all the same.
func ollama(ctx context.Context, c *Container) int {
	if len(c.Argv) > 1 && c.Argv[1] != "serve" { // ps, show, pull: in hooks
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

// curl asks once, as the Jobs do that pull models, in the containers of a real node.
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

// TagOf is an image's tag; "" without one.
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

// linkGBps is what the machines' network gives, one of 100 Gbit/s.
const linkGBps = 11.6

// fabric is the stack's all-reduce (components/workloads/fabric.ts): it goes on until the cards are joined, and the network gives what the floor asks.
func fabric(ctx context.Context, c *Container) int {
	least, _ := strconv.ParseFloat(c.Env["LEAST_BANDWIDTH"], 64) //nolint:errcheck // the stack writes a number
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

// vllm is the server of a model; that the pods of a group wait for each other is not emulated.
func vllm(ctx context.Context, c *Container) int {
	if why := c.notJoined(); why != "" {
		return c.Fails("%s", why)
	}
	return server(8000, 60*time.Second, "RuntimeError: Failed to infer device type")(ctx, c)
}

// notJoined is NCCL's word for processes that share too little memory: more cards than one need more than the 64 MiB that a container has of itself
// (containerd pkg/oci/mounts.go; docs.nvidia.com/deeplearning/nccl, troubleshooting). "" where it joins them.
func (c *Container) notJoined() string {
	if len(c.GPUs) < 2 || c.SharedMemory > 64<<20 {
		return ""
	}
	return "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nError: failed to extend /dev/shm/nccl-03v824 to 4194660 bytes"
}
