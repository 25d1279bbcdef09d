package userfiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/talos/userfiles"
)

const part = "/etc/cri/conf.d/20-customization.part"

func TestRules(t *testing.T) {
	for name, test := range map[string]struct {
		files    []userfiles.File
		problem  string
		injected []string
	}{
		"one part": {
			files:    []userfiles.File{{Path: part, Op: "create", Content: "a = 1"}},
			injected: []string{"a = 1"},
		},
		"the same part twice, even with the same content": {
			files:    []userfiles.File{{Path: part, Op: "create", Content: "a = 1"}, {Path: part, Op: "create", Content: "a = 1"}},
			problem:  "resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists",
			injected: []string{"a = 1"},
		},
		"the part with overwrite": {
			files:   []userfiles.File{{Path: part, Op: "overwrite", Content: "a = 1"}},
			problem: `file must exist: "/etc/cri/conf.d/20-customization.part"`,
		},
		"a part that can't be rendered": {
			files:    []userfiles.File{{Path: part, Op: "create", Content: "bad"}},
			problem:  `error waiting for file "cri/conf.d/cri.toml" to be updated: not rendered`,
			injected: []string{"bad"},
		},
		"create outside of /var": {
			files:   []userfiles.File{{Path: "/etc/nvidia-container-runtime/config.toml", Op: "create"}, {Path: part, Op: "create", Content: "never"}},
			problem: `create operation not allowed outside of /var: "/etc/nvidia-container-runtime/config.toml"`,
		},
		"append to a file that is not there": {
			files:   []userfiles.File{{Path: "/etc/missing", Op: "append"}},
			problem: `file must exist: "/etc/missing"`,
		},
		"an unknown operation": {
			files:   []userfiles.File{{Path: "/var/x", Op: "touch"}},
			problem: `unknown operation for file "/var/x": "touch"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var injected []string

			err := userfiles.Write(t.TempDir(), test.files, func(content string) error {
				injected = append(injected, content)
				if content == "bad" {
					return errors.New("not rendered")
				}

				return nil
			})

			switch {
			case test.problem == "" && err != nil:
				t.Fatalf("unexpected: %v", err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Fatalf("got %v, want %s", err, test.problem)
			}

			if strings.Join(injected, "|") != strings.Join(test.injected, "|") {
				t.Fatalf("injected %q, want %q", injected, test.injected)
			}
		})
	}
}

func TestFilesBelowVar(t *testing.T) {
	root := t.TempDir()

	err := userfiles.Write(root, []userfiles.File{
		{Path: "/var/a", Op: "create", Content: "one"},
		{Path: "/var/a", Op: "append", Content: "two"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	content, _ := os.ReadFile(filepath.Join(root, "var/a"))
	if string(content) != "one\ntwo" {
		t.Fatalf("%q", content)
	}
}
