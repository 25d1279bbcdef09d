package rules

import (
	"context"
	"net/http"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// liteLLM is the proxy: it reads its model list at the start, and does not start without one that can be read.
func liteLLM(ctx context.Context, c *cri.Container) int {
	if c.Machine.Clock().Sleep(ctx, 10*time.Second) != nil {
		return 143
	}
	file := ""
	for i, argument := range c.Argv {
		if argument == "--config" && i+1 < len(c.Argv) {
			file = c.Argv[i+1]
		}
	}
	content, err := os.ReadFile(c.Paths.Resolve(file))
	if err != nil {
		c.Logf("Exception: Config file not found: %s", file)
		return 1
	}
	var config struct {
		ModelList []struct {
			ModelName string `json:"model_name"`
		} `json:"model_list"`
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		c.Logf("Exception: %v", err)
		return 1
	}
	models := []any{}
	for _, model := range config.ModelList {
		models = append(models, map[string]any{"id": model.ModelName, "object": "model", "owned_by": "openai"})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/liveliness", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`"I'm alive!"`)) })
	mux.HandleFunc("GET /health/readiness", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"status": "healthy", "db": "Not connected"})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, request *http.Request) {
		if key := c.Env["LITELLM_MASTER_KEY"]; key != "" && request.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, `{"error":{"message":"Authentication Error","code":"401"}}`, http.StatusUnauthorized)
			return
		}
		answer(w, map[string]any{"object": "list", "data": models})
	})
	c.Logf("Uvicorn running on http://0.0.0.0:%d", firstPort(c, 4000))
	if err := c.Serve(ctx, firstPort(c, 4000), mux); err != nil {
		c.Logf("%v", err)
		return 1
	}
	return 143
}
