//go:build linux

package realnode

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed native/*.c
var native embed.FS

// driverVersion of the stand-in: what Talos 1.13.4 has as its LTS branch.
const driverVersion = "580.159.04"

// prepare builds, outside, what the node has from C: its sandboxes' program, the smoke test, and without a real driver its stand-in. Then the images.
func prepare(spec *Spec) error {
	folder := filepath.Join(spec.Folder, "programs")
	if err := compile(folder, "pause.c", "pause", "-static", "-Os"); err != nil {
		return err
	}
	if err := compile(folder, "compute.c", "compute", "-O1", "-w", "-ldl"); err != nil {
		return err
	}
	if !spec.RealDriver && len(spec.Cards) > 0 {
		if err := compile(folder, "nvml.c", "libnvidia-ml.so."+driverVersion, "-shared", "-fPIC", "-O1", `-DDRIVER_VERSION="`+driverVersion+`"`, "-DCARDS="+cardsInC(spec.Cards), "-Wl,-soname,libnvidia-ml.so.1"); err != nil {
			return err
		}
		stub := filepath.Join(folder, "cuda.c")
		if err := os.WriteFile(stub, []byte("int talos_gpu_stand_in(void) { return 1; }\n"), 0o600); err != nil {
			return err
		}
		if err := cc("-shared", "-fPIC", "-o", filepath.Join(folder, "libcuda.so."+driverVersion), stub, "-Wl,-soname,libcuda.so.1"); err != nil {
			return err
		}
	}
	if spec.RealDriver {
		if err := collectDriver(spec); err != nil {
			return err
		}
	}
	images, err := spec.images()
	if err != nil {
		return err
	}
	for i, image := range images {
		if err := image.archive(filepath.Join(spec.Folder, "images", fmt.Sprintf("%d.tar", i))); err != nil {
			return fmt.Errorf("making the image %s: %w", image.names[0], err)
		}
	}
	return nil
}

func cardsInC(cards []Card) string {
	var list []string
	for _, card := range cards {
		list = append(list, fmt.Sprintf("{%q,%q,%dull}", card.UUID, card.Name, card.Memory))
	}
	return strings.Join(list, ",")
}

func compile(folder, source, program string, flags ...string) error {
	target := filepath.Join(folder, program)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	text, err := native.ReadFile("native/" + source)
	if err != nil {
		return err
	}
	file := filepath.Join(folder, source)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	return cc(append([]string{"-o", target, file}, flags...)...)
}

func cc(arguments ...string) error {
	said, err := exec.Command("cc", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cc %s: %w: %s; a real node needs a C compiler with the C library's headers (Debian: gcc, libc6-dev)", strings.Join(arguments, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}
