package rules

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/version"
)

// vLLM's OpenAI server. It splits a model over the GPUs that --tensor-parallel-size says, which must be there, and whose
// processes share /dev/shm (docs.vllm.ai, "Parallelism and Scaling"; "Using Docker": --shm-size).
func vLLM(ctx context.Context, c *cri.Container) int {
	if c.Machine.Clock().Sleep(ctx, 60*time.Second) != nil {
		return 143
	}
	if len(c.GPUs) == 0 {
		c.Logf("RuntimeError: Failed to infer device type")
		return 1
	}
	model, parallel := vllmArguments(c.Argv)
	if parallel > len(c.GPUs) {
		c.Logf("ValueError: World size (%d) is larger than the number of available GPUs (%d) in this node.", parallel, len(c.GPUs))
		return 1
	}
	if parallel > 1 && !c.SharesMemory {
		c.Logf("torch.distributed.DistBackendError: NCCL error: unhandled system error: Error while creating shared memory segment /dev/shm/nccl")
		return 1
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"version": version.OfImage(c.Spec.Image)})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": model, "object": "model"}}})
	})
	if err := c.Serve(ctx, firstPort(c, 8000), mux); err != nil {
		c.Logf("%v", err)
		return 1
	}
	return 143
}

// vllmArguments reads the model and the tensor parallel size.
func vllmArguments(argv []string) (model string, parallel int) {
	model, parallel = "model", 1
	for i, argument := range argv {
		name, value, joined := strings.Cut(argument, "=")
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		switch {
		case name == "--model":
			model = value
		case name == "--tensor-parallel-size" || name == "-tp":
			parallel, _ = strconv.Atoi(value)
		case i > 0 && argv[i-1] == "serve" && !strings.HasPrefix(argument, "-"):
			model = argument
		}
	}
	return model, parallel
}
