package inside

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/groups"
)

// step is a step of a sequence. After a failed step, no further step runs.
type step = func(*boot.Spec) error

func mount(source, target, kind string, flags uintptr, options string) step {
	return func(*boot.Spec) error { return files.Mount(source, target, kind, flags, options) }
}

func inOrder(spec *boot.Spec, steps ...step) error {
	for _, step := range steps {
		if err := step(spec); err != nil {
			return err
		}
	}
	return nil
}

// mountMachine mounts the machine's file system over this computer's. Changes are in memory and disappear with the
// node.
func mountMachine(spec *boot.Spec) error {
	work := filepath.Join(spec.Folder, "machine")
	steps := []step{mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), mount("proc", "/proc", "proc", 0, ""), mount("tmpfs", work, "tmpfs", 0, "mode=755")}
	for _, folder := range []string{"usr", "etc", "var"} {
		upper, scratch := filepath.Join(work, folder), filepath.Join(work, folder+".work")
		layers := func(*boot.Spec) error { return errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(scratch, 0o755)) }
		steps = append(steps, layers, mount("overlay", "/"+folder, "overlay", 0, fmt.Sprintf("lowerdir=/%s,upperdir=%s,workdir=%s", folder, upper, scratch)))
	}
	for _, folder := range []string{"/var/lib/containerd", "/var/lib/kubelet", "/run", "/opt", "/var/log/pods"} {
		steps = append(steps, mount("tmpfs", folder, "tmpfs", 0, "mode=755"))
	}
	if info, err := os.Lstat("/var/run"); err == nil && info.Mode()&os.ModeSymlink == 0 {
		steps = append(steps, mount("/run", "/var/run", "", syscall.MS_BIND, ""))
	}
	return inOrder(spec, append(steps, devices, cardsInSystem, driverInProc,
		// As on Talos, mounts of pods propagate to the machine and other pods: the driver's folder and the shared
		// memory of MPS.
		mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""), func(*boot.Spec) error { return groups.Mount() }, identify)...)
}

// identify sets the machine's identity where the kubelet's cAdvisor reads it (google/cadvisor utils/sysinfo,
// machine/operatingsystem_unix.go).
func identify(spec *boot.Spec) error {
	boot := filepath.Join(spec.Folder, "machine", "boot_id")
	if err := os.WriteFile(boot, []byte(spec.BootID+"\n"), 0o644); err != nil {
		return err
	}
	if err := files.Mount(boot, "/proc/sys/kernel/random/boot_id", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	_ = os.Remove("/etc/os-release")
	if err := syscall.Sethostname([]byte(spec.Name)); err != nil {
		return err
	}
	return files.Write("/etc/os-release", fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", spec.TalosVersion, spec.TalosVersion))
}

// cardsInSystem shows only the simulated cards on the PCI bus, where Node Feature Discovery reads them
// (pkg/utils/pci.go).
func cardsInSystem(spec *boot.Spec) error {
	const bus = "/sys/bus/pci/devices"
	if spec.RealDriver || len(spec.Cards) == 0 || !files.Exists(bus) {
		return nil
	}
	if err := files.Mount("tmpfs", bus, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, card := range spec.Cards {
		class, vendor, _ := strings.Cut(card.PCIDevice, "_")
		folder := filepath.Join(bus, card.BusID())
		for name, text := range map[string]string{
			"class": "0x" + class + "00", "vendor": "0x" + vendor, "device": "0x" + cmp.Or(card.PCIID, "ffff"), "subsystem_vendor": "0x" + vendor, "subsystem_device": "0x0000",
		} {
			if err := files.Write(folder+"/"+name, text+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// driverInProc shows the machine's driver where the kernel shows a real one.
func driverInProc(spec *boot.Spec) error {
	if spec.RealDriver {
		return nil
	}
	if err := os.MkdirAll(spec.Proc, 0o755); err != nil {
		return err
	}
	return files.Mount(spec.Proc, procDriver, "", syscall.MS_BIND, "")
}

// devices makes the node's /dev: the usual devices of this computer, and those of its real or simulated cards.
func devices(spec *boot.Spec) error {
	folder := filepath.Join(spec.Folder, "machine/dev")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	names := []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse"}
	if spec.RealDriver {
		found, _ := filepath.Glob("/dev/nvidia*")
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeCharDevice != 0 {
				names = append(names, filepath.Base(path))
			}
		}
	}
	numbers := map[string]int{}
	for _, name := range names {
		info := syscall.Stat_t{}
		if syscall.Stat("/dev/"+name, &info) == nil {
			numbers[name] = int(info.Rdev)
		}
	}
	if spec.StandsIn() && spec.DriverVersion != "" {
		const null = 1<<8 | 3
		for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"} {
			numbers[name] = null
		}
		for i := range spec.Cards {
			numbers[fmt.Sprintf("nvidia%d", i)] = null
		}
	}
	for name, number := range numbers {
		target := filepath.Join(folder, name)
		if err := syscall.Mknod(target, syscall.S_IFCHR|0o666, number); err != nil {
			return fmt.Errorf("the device %s: %w", name, err)
		}
		_ = os.Chmod(target, 0o666)
	}
	links := map[string]string{
		"fd":     "/proc/self/fd",
		"stdin":  "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
		"ptmx":   "pts/ptmx",
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			return err
		}
	}
	return inOrder(spec, mount(folder, "/dev", "", syscall.MS_BIND, ""), mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0620"),
		mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777"), mount("mqueue", "/dev/mqueue", "mqueue", 0, ""))
}
