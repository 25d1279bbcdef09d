package userfiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/talos/userfiles"
)

func TestRules(t *testing.T) {
	const part = "/etc/cri/conf.d/20-customization.part"
	files := func(list ...userfiles.File) []userfiles.File { return list }
	for name, test := range map[string]struct {
		files             []userfiles.File
		problem, injected string
	}{
		"one part": {files(userfiles.File{Path: part, Op: "create", Content: "a = 1"}), "", "a = 1"},
		"the same part twice, even with the same content": {files(userfiles.File{Path: part, Op: "create", Content: "a = 1"}, userfiles.File{Path: part, Op: "create", Content: "a = 1"}),
			"resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists", "a = 1"},
		"the part with overwrite":            {files(userfiles.File{Path: part, Op: "overwrite"}), `file must exist: "/etc/cri/conf.d/20-customization.part"`, ""},
		"a part that can't be rendered":      {files(userfiles.File{Path: part, Op: "create", Content: "bad"}), `error waiting for file "cri/conf.d/cri.toml" to be updated: not rendered`, "bad"},
		"create outside of /var":             {files(userfiles.File{Path: "/etc/x", Op: "create"}, userfiles.File{Path: part, Op: "create", Content: "never"}), `create operation not allowed outside of /var: "/etc/x"`, ""},
		"append to a file that is not there": {files(userfiles.File{Path: "/etc/missing", Op: "append"}), `file must exist: "/etc/missing"`, ""},
		"an unknown operation":               {files(userfiles.File{Path: "/var/x", Op: "touch"}), `unknown operation for file "/var/x": "touch"`, ""},
	} {
		injected := ""
		err := userfiles.Write(t.TempDir(), test.files, func(content string) error {
			if injected += content; content == "bad" {
				return errors.New("not rendered")
			}
			return nil
		})
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) || injected != test.injected {
			t.Errorf("%s: %v, injected %q", name, err, injected)
		}
	}
}

func TestFilesBelowVar(t *testing.T) {
	root := t.TempDir()
	err := userfiles.Write(root, []userfiles.File{{Path: "/var/a", Op: "create", Content: "one"}, {Path: "/var/a", Op: "append", Content: "two"}}, nil)
	if content, _ := os.ReadFile(filepath.Join(root, "var/a")); err != nil || string(content) != "one\ntwo" {
		t.Fatalf("%q, %v", content, err)
	}
}

func TestWithoutCustomization(t *testing.T) {
	const part = "/etc/cri/conf.d/20-customization.part"
	left := userfiles.WithoutCustomization([]userfiles.File{{Path: part, Op: "create"}, {Path: "/var/a", Op: "create"}, {Path: part, Op: "create"}})
	if len(left) != 1 || left[0].Path != "/var/a" {
		t.Fatalf("%v", left)
	}
}
