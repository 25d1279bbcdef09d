// Package userfiles emulates machine.files: which files Talos writes in the phase userSetup of the boot sequence, and
// which it rejects.
//
// Source: talos v1.13.0 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, WriteUserFiles and
// injectCRIConfigPatch (unchanged from v1.9.0 to v1.13). Talos 1.14 does not write containerd's part there
// (WithoutCustomization).
package userfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"

	"talos-gpu/lab/machines/internal/talos/containerd"
)

// File is one item of machine.files.
type File struct {
	Path, Content, Op string
	Permissions       os.FileMode
}

// Write writes the items in order below root. For /etc/cri/conf.d/20-customization.part it calls inject with the
// content. inject returns an error if the merged containerd configuration cannot be rendered.
func Write(root string, files []File, inject func(content string) error) error {
	var problems *multierror.Error
	injected := false
	for _, file := range files {
		content, err := prepare(root, file)
		switch {
		case err != nil:
		case file.Path == containerd.CustomizationPath && injected:
			// Talos creates the part as a resource and never changes it. So a second item fails even with the same
			// content, and the first stays in effect (seen on Talos v1.13.0).
			err = errors.New("resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists")
		case file.Path == containerd.CustomizationPath:
			injected = true
			// Only the content of the item counts: `append` does not append to this path.
			if err = inject(file.Content); err != nil {
				err = fmt.Errorf("error waiting for file %q to be updated: %w", "cri/conf.d/cri.toml", err)
			}
		case file.Op == "create" && !strings.HasPrefix(file.Path, "/var/") && filepath.Dir(file.Path) != "/etc/kubernetes/manifests":
			// Only this failure ends the phase at once: the later items are not written.
			return fmt.Errorf("create operation not allowed outside of /var: %q", file.Path)
		default:
			// Outside of /var Talos bind-mounts a file over the read-only original. Here the original itself is
			// written.
			err = put(filepath.Join(root, file.Path), content, file.Permissions)
		}
		if err != nil {
			problems = multierror.Append(problems, err)
		}
	}
	return problems.ErrorOrNil()
}

// WithoutCustomization returns the items that Talos >= 1.14 writes. It removes every item of containerd's part (talos
// v1.14.1 v1alpha1_sequencer_tasks.go, WriteUserFiles).
func WithoutCustomization(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(file File) bool { return file.Path == containerd.CustomizationPath })
}

func prepare(root string, file File) (string, error) {
	path := filepath.Join(root, file.Path)
	info, err := os.Stat(path)
	switch {
	case file.Op == "create":
		return file.Content, nil
	case file.Op != "overwrite" && file.Op != "append":
		return "", fmt.Errorf("unknown operation for file %q: %q", file.Path, file.Op)
	case err != nil:
		return "", fmt.Errorf("file must exist: %q", file.Path)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("invalid mode: %q", info.Mode().String())
	case file.Op == "overwrite":
		return file.Content, nil
	}
	old, err := os.ReadFile(path)
	return string(old) + "\n" + file.Content, err
}

func put(path, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if mode == 0 {
		mode = 0o644
	}
	// The lab must be able to write the file again, so its owner can always read and write it.
	return os.WriteFile(path, []byte(content), mode|0o600)
}
