// Package driver installs NVIDIA's driver and toolkit on the node: this computer's driver, or a simulated one with the
// machine's cards.
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

// Install installs the driver and NVIDIA's toolkit in the layout of Talos 1.13's extensions. Libraries are in
// /usr/local/lib, and programs in /usr/local/bin with links in /usr/bin. It also makes the linker's cache and a CDI
// specification (siderolabs/extensions c5480f9, nvidia-gpu).
func Install(spec *boot.Spec) error {
	if !spec.HasToolkit() {
		return nil
	}
	toolkit, linked := toolkitFor(spec.Toolkit()), []string{"nvidia-smi", "nvidia-ctk", "nvidia-cdi-hook"}
	installed := append(linked[1:], "nvidia-container-runtime", "nvidia-container-runtime-hook")
	if spec.Injection == host.InjectionNRI { // siderolabs/extensions#1222
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
	if spec.Injection != host.InjectionCDI || spec.DriverVersion == "" { // only InjectionCDI's image writes a CDI specification
		return nil
	}
	if err := os.MkdirAll("/run/cdi", 0o755); err != nil {
		return err
	}
	return said("/usr/bin/nvidia-ctk", "cdi", "generate", "--output", "/run/cdi/nvidia.yaml")
}

// standIn installs the libraries and nvidia-smi of the simulated driver in the place of the driver's.
func standIn(spec *boot.Spec) error {
	for _, name := range standInLibraries {
		file := name + "." + spec.LibraryVersion
		// A copy can be removed, like the driver's file.
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

// programsOfDriver are the programs of a driver.
var programsOfDriver = []string{"nvidia-smi", "nvidia-debugdump"}

// Where this computer may have the driver's files: the folders of distributions, and the folders that containers get.
var (
	librariesAt = []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"}
	programsAt  = []string{"/usr/bin", "/usr/local/nvidia/bin"}
	libraries   = []string{"libnvidia-*.so.*", "libcuda.so.*", "libcudadebugger.so.*", "libnvcuvid.so.*", "libnvoptix.so.*"}
)

// driverLibraries returns the paths of the driver's libraries on this computer.
func driverLibraries() (found []string) {
	for _, folder := range librariesAt {
		for _, pattern := range libraries {
			paths, _ := filepath.Glob(filepath.Join(folder, pattern))
			found = append(found, paths...)
		}
	}
	return found
}

// collectDriver copies this computer's driver outside of the node. A file of the driver may be a mount, which an
// overlay does not show.
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

// realDriver moves the driver from this computer's folders to those of Talos. It changes only the node's overlay.
func realDriver(spec *boot.Spec) error {
	for _, path := range driverLibraries() {
		_ = os.Remove(path) // a file that is a mount cannot be removed and stays
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

// said runs a program and returns its output in the error.
func said(argv ...string) error {
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	text, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(text)))
	}
	return nil
}

// toolkit is a built release of NVIDIA's container toolkit, with the folder of its programs (lab/tools/catalogue.yaml).
type toolkit struct{ release, folder string }

// toolkits are the built releases, oldest first.
var toolkits = []toolkit{{"1.18.2", "nvidia-toolkit-v1.18"}, {"1.19.1", "nvidia-toolkit-v1.19"}}

// toolkitFor returns the newest toolkit whose minor is not newer than that of the release, or else the oldest toolkit.
// For an unknown release it returns the newest toolkit.
func toolkitFor(release string) (nearest toolkit) {
	for i, each := range toolkits {
		minor := strings.TrimPrefix(each.folder, "nvidia-toolkit-v")
		if i == 0 || release == "" || programs.Compare(release, minor) > 0 {
			nearest = each
		}
	}
	return nearest
}

// InStead returns the toolkit release that the node runs if its image has another one, or "".
func InStead(spec *boot.Spec) string {
	if runs := toolkitFor(spec.Toolkit()).release; spec.HasToolkit() && spec.Injection != host.InjectionNRI && runs != spec.Toolkit() {
		return runs
	}
	return ""
}
