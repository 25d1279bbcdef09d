package rules

import "testing"

func TestVLLMArguments(t *testing.T) {
	for _, test := range []struct {
		argv     []string
		model    string
		parallel int
	}{
		{[]string{"vllm", "serve", "a/b", "--tensor-parallel-size=2"}, "a/b", 2},
		{[]string{"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "a/b", "-tp", "4"}, "a/b", 4},
		{[]string{"vllm", "serve", "a/b"}, "a/b", 1},
	} {
		if model, parallel := vllmArguments(test.argv); model != test.model || parallel != test.parallel {
			t.Errorf("%v: %s, %d", test.argv, model, parallel)
		}
	}
}
