package rules

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOllamaModelNames(t *testing.T) {
	for _, test := range []struct{ pulled, listed string }{
		{"mistral", "mistral:latest"},
		{"llama3.2:3b", "llama3.2:3b"},
		{"registry.ollama.ai/library/llama3.2:3b", "llama3.2:3b"},
		{"team/model", "team/model:latest"},
		{"https://hf.co/bartowski/X-GGUF:Q4_K_M", "hf.co/bartowski/X-GGUF:Q4_K_M"},
		{"hub.example:5000/library/model", "hub.example:5000/library/model:latest"},
	} {
		server := &ollamaServer{models: t.TempDir()}
		file := server.manifest(test.pulled)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if list := server.list(); len(list) != 1 || list[0]["name"] != test.listed {
			t.Errorf("%s: is listed as %v, not as %s", test.pulled, list, test.listed)
		}
	}
}
