package driver

import (
	"cmp"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/realnode/boot"
)

//go:embed native/*.c
var native embed.FS

// standInLibraries are the driver's libraries that programs search for.
var standInLibraries = []string{"libnvidia-ml.so", "libcuda.so"}

// Prepare builds the node's C programs outside of the node: the program of sandboxes, the smoke test, and the simulated
// driver. With a real driver it collects the driver's files instead.
func Prepare(spec *boot.Spec) error {
	folder := filepath.Join(spec.Folder, "programs")
	if err := compile(folder, "pause.c", "pause", "-static", "-Os"); err != nil {
		return err
	}
	if err := compile(folder, "compute.c", "compute", "-O1", "-w", "-ldl"); err != nil {
		return err
	}
	if spec.RealDriver {
		return collectDriver(spec)
	}
	if !spec.StandsIn() {
		return nil
	}
	flags := []string{
		"-shared",
		"-fPIC",
		"-O1",
		`-DDRIVER_VERSION="` + spec.LibraryVersion + `"`,
		"-DCARDS=" + cardsInC(spec.Cards),
		"-DCUDA_VERSION=" + cudaInC(spec.LibraryVersion),
		"-Wl,-soname,libnvidia-ml.so.1",
	}
	if err := compile(folder, "nvml.c", "libnvidia-ml.so."+spec.LibraryVersion, flags...); err != nil {
		return err
	}
	return compile(folder, "cuda.c", "libcuda.so."+spec.LibraryVersion, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
}

// brands has the numbers of brands in nvml.h.
var brands = map[string]int{"GeForce": 5, "NvidiaRTX": 13, "Nvidia": 14}

func cardsInC(cards []gpu.Card) string {
	var list []string
	for _, card := range cards {
		major, minor, _ := strings.Cut(card.ComputeCapability, ".")
		mig := 0
		if card.MIG != nil {
			mig = 1
		}
		list = append(list, fmt.Sprintf("{%q,%q,%dull,%s,%s,%d,%d}", card.UUID, card.ProductName(), uint64(card.MemoryMiB)<<20, cmp.Or(major, "0"), cmp.Or(minor, "0"), mig, brands[card.Brand()]))
	}
	return strings.Join(list, ",")
}

// cudaInC returns a driver's CUDA release in the format of its libraries, e.g. 13020 for 13.2.
func cudaInC(driver string) string {
	major, minor, _ := strings.Cut(gpu.CUDAVersion(driver), ".")
	return fmt.Sprintf("(%s*1000+%s*10)", cmp.Or(major, "13"), cmp.Or(minor, "0"))
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
