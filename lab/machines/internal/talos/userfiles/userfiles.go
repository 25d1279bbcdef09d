// Package userfiles is machine.files: what Talos writes in the boot sequence's userSetup phase, and what it refuses.
//
// Source: talos v1.13.0 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, WriteUserFiles and
// injectCRIConfigPatch (unchanged since v1.9.0).
package userfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-multierror"

	"talos-gpu/lab/machines/internal/talos/containerd"
)

// File is one item of machine.files.
type File struct {
	Path, Content, Op string
	Permissions       os.FileMode
}

// Write carries out the items in order below root. The content of /etc/cri/conf.d/20-customization.part is given to
// inject, which returns an error when the merged containerd configuration can't be rendered.
func Write(root string, files []File, inject func(content string) error) error {
	var problems *multierror.Error

	injected := false

	for _, file := range files {
		content, err := prepare(root, file)
		if err != nil {
			problems = multierror.Append(problems, err)

			continue
		}

		if file.Path == containerd.CustomizationPath {
			// The part is a resource that is created, never changed: a second item fails even with the same content, and
			// the first one's stays in effect.
			if injected {
				problems = multierror.Append(problems, errors.New("resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists"))

				continue
			}

			injected = true

			// Only the item's own content counts: `append` to this path is no append.
			if err := inject(file.Content); err != nil {
				problems = multierror.Append(problems, fmt.Errorf("error waiting for file %q to be updated: %w", "cri/conf.d/cri.toml", err))
			}

			continue
		}

		inVar := strings.HasPrefix(file.Path, "/var/")

		// The one failure that ends the phase at once: the items after it are not written.
		if file.Op == "create" && !inVar && filepath.Dir(file.Path) != "/etc/kubernetes/manifests" {
			return fmt.Errorf("create operation not allowed outside of /var: %q", file.Path)
		}

		// Outside of /var Talos bind-mounts over the read-only original; here the original is a file of ours.
		if err := put(filepath.Join(root, file.Path), content, file.Permissions); err != nil {
			problems = multierror.Append(problems, err)
		}
	}

	return problems.ErrorOrNil()
}

func prepare(root string, file File) (string, error) {
	switch file.Op {
	case "create":
		return file.Content, nil
	case "overwrite":
		return file.Content, existsAndIsFile(root, file.Path)
	case "append":
		if err := existsAndIsFile(root, file.Path); err != nil {
			return "", err
		}

		old, err := os.ReadFile(filepath.Join(root, file.Path))

		return string(old) + "\n" + file.Content, err
	default:
		return "", fmt.Errorf("unknown operation for file %q: %q", file.Path, file.Op)
	}
}

func existsAndIsFile(root, path string) error {
	info, err := os.Stat(filepath.Join(root, path))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("file must exist: %q", path)
	}

	if err != nil {
		return err
	}

	if !info.Mode().IsRegular() {
		return fmt.Errorf("invalid mode: %q", info.Mode().String())
	}

	return nil
}

func put(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	if mode == 0 {
		mode = 0o644
	}

	// The lab must be able to write the file again whatever its mode is.
	return os.WriteFile(path, []byte(content), mode|0o600)
}
