package rules

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/version"
)

// ollama serves the API, and is its own client (`ollama ps`, `ollama pull MODEL`) in hooks and probes.
func ollama(ctx context.Context, c *cri.Container) int {
	server := &ollamaServer{container: c, models: modelFolder(c)}
	verb := "serve"
	if len(c.Argv) > 1 {
		verb = c.Argv[1]
	}
	switch verb {
	case "serve":
		return server.serve(ctx)
	case "ps", "list":
		return 0
	case "pull":
		if len(c.Argv) < 3 {
			c.Logf("Error: accepts 1 arg(s), received 0")
			return 1
		}
		if err := server.pull(ctx, c.Argv[2], func(progress) {}); err != nil {
			c.Logf("Error: %v", err)
			return 1
		}
		return 0
	}
	c.Logf("Error: unknown command %q for \"ollama\"", verb)
	return 1
}

func modelFolder(c *cri.Container) string {
	folder := c.Env["OLLAMA_MODELS"]
	if folder == "" {
		folder = "/root/.ollama/models"
	}
	if strings.HasPrefix(folder, c.Machine.RootFS()) {
		return folder // a real shell has rewritten it already
	}
	return c.Paths.Resolve(folder)
}

type ollamaServer struct {
	container *cri.Container
	models    string
}

// discovery is how long ollama looks at the cards before it listens.
const discovery = 4 * time.Second

func (o *ollamaServer) serve(ctx context.Context) int {
	c := o.container
	if c.Machine.Clock().Sleep(ctx, discovery) != nil {
		return 143
	}
	if len(c.GPUs) == 0 {
		c.Logf(`level=INFO msg="no compatible GPUs were discovered"`)
	}
	for _, card := range c.GPUs {
		c.Logf(`level=INFO msg="inference compute" id=%s library=CUDA compute=%s name="NVIDIA %s" total="%d MiB"`, card.UUID, card.ComputeCapability, card.Model, card.MemoryMiB)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("Ollama is running")) })
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"version": version.OfImage(c.Spec.Image)})
	})
	mux.HandleFunc("GET /api/ps", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"models": []any{}}) })
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]any{"models": o.list()}) })
	mux.HandleFunc("POST /api/pull", o.handlePull)
	port := 11434
	if _, text, found := strings.Cut(strings.TrimPrefix(c.Env["OLLAMA_HOST"], "http://"), ":"); found {
		if number, err := strconv.Atoi(text); err == nil {
			port = number
		}
	}
	c.Logf("Listening on [::]:%d (version %s)", port, version.OfImage(c.Spec.Image))
	if err := c.Serve(ctx, port, mux); err != nil {
		c.Logf("Error: %v", err)
		return 1
	}
	return 143
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(value)
}

type progress struct {
	Status    string `json:"status"`
	Completed int64  `json:"completed,omitempty"`
	Total     int64  `json:"total,omitempty"`
}

// handlePull streams progress as JSON lines, or answers once with stream: false (docs/api.md, "Pull a Model").
func (o *ollamaServer) handlePull(w http.ResponseWriter, request *http.Request) {
	var body struct {
		Model, Name string
		Stream      *bool
	}
	if json.NewDecoder(request.Body).Decode(&body) != nil {
		http.Error(w, `{"error":"invalid request"}`, http.StatusBadRequest)
		return
	}
	model := body.Model
	if model == "" {
		model = body.Name
	}
	streaming := body.Stream == nil || *body.Stream
	w.Header().Set("Content-Type", "application/x-ndjson")
	err := o.pull(request.Context(), model, func(step progress) {
		if streaming {
			_ = json.NewEncoder(w).Encode(step)
			if flush, ok := w.(http.Flusher); ok {
				flush.Flush()
			}
		}
	})
	switch {
	case err != nil && !streaming:
		w.WriteHeader(http.StatusInternalServerError)
		fallthrough
	case err != nil:
		answer(w, map[string]string{"error": err.Error()})
	default:
		answer(w, progress{Status: "success"})
	}
}

// download of a model takes its share of the lab's clock: 2 GB at 1 Gbit/s.
const (
	modelBytes = int64(2_000_000_000)
	download   = 16 * time.Second
)

// pull puts a manifest where ollama keeps it, so that the model outlives the pod exactly as its volume does.
func (o *ollamaServer) pull(ctx context.Context, model string, step func(progress)) error {
	file := o.manifest(model)
	step(progress{Status: "pulling manifest"})
	if _, err := os.Stat(file); err != nil {
		for part := int64(1); part <= 4; part++ {
			if err := o.container.Machine.Clock().Sleep(ctx, download/4); err != nil {
				return err
			}
			step(progress{Status: "downloading", Completed: part * modelBytes / 4, Total: modelBytes})
		}
		step(progress{Status: "verifying sha256 digest"})
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(`{"schemaVersion":2}`), 0o644); err != nil {
			return err
		}
	}
	step(progress{Status: "writing manifest"})
	return nil
}

// registry and namespace that a model is of where it names none (ollama v0.12.0, types/model/name.go).
var ownRegistry = []string{"registry.ollama.ai", "library"}

// manifest of a model: registry/namespace/name/tag, with ollama's defaults (types/model/name.go: ParseName, Filepath).
func (o *ollamaServer) manifest(model string) string {
	if _, bare, found := strings.Cut(model, "://"); found {
		model = bare
	}
	tag := "latest"
	if colon := strings.LastIndex(model, ":"); colon > strings.LastIndex(model, "/") { // before a slash it is a port's
		model, tag = model[:colon], model[colon+1:]
	}
	parts := strings.Split(model, "/")
	parts = slices.Concat(ownRegistry[:max(0, 3-len(parts))], parts)
	return filepath.Join(o.models, "manifests", filepath.Clean("/"+strings.Join(parts, "/")), filepath.Base(tag))
}

// list of the models in the volume, each by its shortest name (types/model/name.go: DisplayShortest).
func (o *ollamaServer) list() []map[string]any {
	list := []map[string]any{}
	root := filepath.Join(o.models, "manifests")
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(root, filepath.Dir(path))
		name := filepath.ToSlash(rel)
		if own, found := strings.CutPrefix(name, ownRegistry[0]+"/"); found {
			name = strings.TrimPrefix(own, ownRegistry[1]+"/")
		}
		name += ":" + entry.Name()
		list = append(list, map[string]any{"name": name, "model": name, "size": modelBytes})
		return nil
	})
	return list
}
