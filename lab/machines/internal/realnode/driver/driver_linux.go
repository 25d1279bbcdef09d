// Package driver gives the node NVIDIA's driver and toolkit: this computer's own driver, or a stand-in with the machine's cards.
package driver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// Install lays the driver and NVIDIA's toolkit out as Talos 1.13's extensions do: libraries in /usr/local/lib, programs in /usr/local/bin with links in
// /usr/bin, the linker's cache, and a CDI specification made at boot (siderolabs/extensions c5480f9, nvidia-gpu).
func Install(spec *boot.Spec) error {
	if !spec.HasToolkit() {
		return nil
	}
	toolkit, linked := toolkitFor(spec.Toolkit()), []string{"nvidia-smi", "nvidia-ctk", "nvidia-cdi-hook"}
	installed := append(linked[1:], "nvidia-container-runtime", "nvidia-container-runtime-hook")
	if spec.Era == host.EraNRI { // siderolabs/extensions#1222
		installed, linked = nil, linked[:1]
	}
	for _, name := range installed {
		program, err := spec.Program(toolkit.folder + "/" + name)
		if err != nil {
			return err
		}
		if err := files.Bind(program, "/usr/local/bin/"+name); err != nil {
			return err
		}
	}
	var err error
	if spec.RealDriver {
		err = realDriver(spec)
	} else {
		err = standIn(spec)
	}
	if err != nil {
		return err
	}
	for _, name := range linked {
		link := "/usr/bin/" + name
		_ = os.Remove(link)
		if err := os.Symlink("/usr/local/bin/"+name, link); err != nil {
			return err
		}
	}
	if err := said("/sbin/ldconfig"); err != nil {
		return err
	}
	if spec.Era != host.EraCDI || spec.DriverVersion == "" { // the image writes a CDI specification at boot
		return nil
	}
	if err := os.MkdirAll("/run/cdi", 0o755); err != nil {
		return err
	}
	return said("/usr/bin/nvidia-ctk", "cdi", "generate", "--output", "/run/cdi/nvidia.yaml")
}

// standIn puts the stand-in's libraries and nvidia-smi where the driver's would be.
func standIn(spec *boot.Spec) error {
	for _, name := range standInLibraries {
		file := name + "." + spec.LibraryVersion
		// A copy: as the driver's own, it can be taken away.
		if err := files.Copy(spec.Built(file), "/usr/local/lib"); err != nil {
			return err
		}
		_ = os.Remove("/usr/local/lib/" + name + ".1")
		if err := os.Symlink(file, "/usr/local/lib/"+name+".1"); err != nil {
			return err
		}
	}
	_ = os.Symlink("lib", "/usr/local/lib64")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return files.Bind(self, "/usr/local/bin/nvidia-smi")
}

// programsOfDriver that a driver has in addition to its libraries.
var programsOfDriver = []string{"nvidia-smi", "nvidia-debugdump"}

// Where a driver's files may be on this computer: as distributions have them, and as containers get them.
var (
	librariesAt = []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"}
	programsAt  = []string{"/usr/bin", "/usr/local/nvidia/bin"}
	libraries   = []string{"libnvidia-*.so.*", "libcuda.so.*", "libcudadebugger.so.*", "libnvcuvid.so.*", "libnvoptix.so.*"}
)

// driverLibraries of this computer.
func driverLibraries() (found []string) {
	for _, folder := range librariesAt {
		for _, pattern := range libraries {
			paths, _ := filepath.Glob(filepath.Join(folder, pattern))
			found = append(found, paths...)
		}
	}
	return found
}

// collectDriver copies this computer's driver, outside: it may lie on a mount of its own, which an overlay does not show.
func collectDriver(spec *boot.Spec) error {
	found := driverLibraries()
	if len(found) == 0 {
		return fmt.Errorf("this computer has no libraries of NVIDIA's driver in %s; leave --gpu out, or install the driver", strings.Join(librariesAt, ", "))
	}
	into := map[string]string{}
	for _, path := range found {
		into[path] = "driver/lib"
	}
	for _, folder := range programsAt {
		for _, name := range programsOfDriver {
			if path := filepath.Join(folder, name); files.Exists(path) {
				into[path] = "driver/bin"
			}
		}
	}
	for path, folder := range into {
		if err := files.Copy(path, filepath.Join(spec.Folder, folder)); err != nil {
			return err
		}
	}
	return nil
}

// realDriver puts the driver where Talos has it, and takes it away where this computer has it: in the node's overlay alone.
func realDriver(spec *boot.Spec) error {
	for _, path := range driverLibraries() {
		_ = os.Remove(path) // one that is a mount of its own stays
	}
	for _, name := range programsOfDriver {
		_ = os.Remove("/usr/bin/" + name)
	}
	for from, to := range map[string]string{"lib": "/usr/local/lib", "bin": "/usr/local/bin"} {
		paths, _ := filepath.Glob(filepath.Join(spec.Folder, "driver", from, "*"))
		for _, path := range paths {
			if err := files.Copy(path, to); err != nil {
				return err
			}
		}
	}
	return os.Symlink("lib", "/usr/local/lib64")
}

// said runs a program and gives its output with the error.
func said(argv ...string) error {
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}

// toolkit is a release of NVIDIA's container toolkit that is built, with its folder of programs (lab/tools/catalogue.yaml).
type toolkit struct{ release, folder string }

// toolkits that are built, oldest first.
var toolkits = []toolkit{{"1.18.2", "nvidia-toolkit-v1.18"}, {"1.19.1", "nvidia-toolkit-v1.19"}}

// toolkitFor is the newest toolkit of no newer minor than an image's, or the oldest; for an image that does not tell, the newest.
func toolkitFor(release string) (nearest toolkit) {
	for i, each := range toolkits {
		minor := strings.TrimPrefix(each.folder, "nvidia-toolkit-v")
		if i == 0 || release == "" || programs.Compare(release, minor) > 0 {
			nearest = each
		}
	}
	return nearest
}

// InStead is the release that the node runs where its image has another toolkit, else "".
func InStead(spec *boot.Spec) string {
	if runs := toolkitFor(spec.Toolkit()).release; spec.HasToolkit() && spec.Era != host.EraNRI && runs != spec.Toolkit() {
		return runs
	}
	return ""
}
