//go:build linux

package inside

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/groups"
)

// mountMachine gives the node a machine's file system over this computer's: what is written stays in memory, and goes with the node.
func mountMachine(spec *boot.Spec) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	work := filepath.Join(spec.Folder, "machine")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", work, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, folder := range []string{"usr", "etc", "var"} {
		upper, scratch := filepath.Join(work, folder), filepath.Join(work, folder+".work")
		for _, each := range []string{upper, scratch} {
			if err := os.Mkdir(each, 0o755); err != nil {
				return err
			}
		}
		if err := syscall.Mount("overlay", "/"+folder, "overlay", 0, fmt.Sprintf("lowerdir=/%s,upperdir=%s,workdir=%s", folder, upper, scratch)); err != nil {
			return fmt.Errorf("an overlay over /%s: %w", folder, err)
		}
	}
	for _, folder := range []string{"/var/lib/containerd", "/var/lib/kubelet", "/run", "/opt", "/var/log/pods"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755"); err != nil {
			return err
		}
	}
	if info, err := os.Lstat("/var/run"); err == nil && info.Mode()&os.ModeSymlink == 0 {
		if err := syscall.Mount("/run", "/var/run", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := devices(spec, work); err != nil {
		return err
	}
	if err := cardsInSystem(spec); err != nil {
		return err
	}
	if err := driverInProc(spec); err != nil {
		return err
	}
	// Mounts of pods reach the machine and others, as on Talos: of the driver's folder, of MPS' shared memory.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return err
	}
	if err := groups.Mount(); err != nil {
		return err
	}
	if err := identify(spec); err != nil {
		return err
	}
	return syscall.Sethostname([]byte(spec.Name))
}

// identify says what the machine says of itself, where the kubelet's cAdvisor looks (google/cadvisor utils/sysinfo, machine/operatingsystem_unix.go).
func identify(spec *boot.Spec) error {
	boot := filepath.Join(spec.Folder, "machine", "boot_id")
	if err := os.WriteFile(boot, []byte(spec.BootID+"\n"), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(boot, "/proc/sys/kernel/random/boot_id", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("the boot's id: %w", err)
	}
	_ = os.Remove("/etc/os-release")
	return files.Write("/etc/os-release", fmt.Sprintf("NAME=\"Talos\"\nID=talos\nVERSION_ID=%s\nPRETTY_NAME=\"Talos (%s)\"\n", spec.TalosVersion, spec.TalosVersion))
}

// cardsInSystem shows the stand-in's cards on the PCI bus, alone, where Node Feature Discovery looks (pkg/utils/pci.go).
func cardsInSystem(spec *boot.Spec) error {
	const bus = "/sys/bus/pci/devices"
	if spec.RealDriver || len(spec.Cards) == 0 || !files.Exists(bus) {
		return nil
	}
	if err := syscall.Mount("tmpfs", bus, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("the cards on the PCI bus: %w", err)
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
	return syscall.Mount(spec.Proc, procDriver, "", syscall.MS_BIND, "")
}

// devices makes the node's /dev: the usual ones of this computer, and its cards' or their stand-ins.
func devices(spec *boot.Spec, work string) error {
	folder := filepath.Join(work, "dev")
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
	for _, name := range names {
		if _, err := os.Stat("/dev/" + name); err != nil {
			continue
		}
		target := filepath.Join(folder, name)
		info := syscall.Stat_t{}
		if err := syscall.Stat("/dev/"+name, &info); err != nil {
			return err
		}
		if err := syscall.Mknod(target, syscall.S_IFCHR|0o666, int(info.Rdev)); err != nil {
			return fmt.Errorf("the device %s: %w", name, err)
		}
		_ = os.Chmod(target, 0o666)
	}
	if spec.StandsIn() && spec.DriverVersion != "" {
		stand := []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"}
		for i := range spec.Cards {
			stand = append(stand, fmt.Sprintf("nvidia%d", i))
		}
		for _, name := range stand {
			if err := syscall.Mknod(filepath.Join(folder, name), syscall.S_IFCHR|0o666, 1<<8|3); err != nil { // as /dev/null
				return err
			}
		}
	}
	for link, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			return err
		}
	}
	if err := syscall.Mount(folder, "/dev", "", syscall.MS_BIND, ""); err != nil {
		return err
	}
	for _, mount := range []struct{ name, kind, options string }{{"pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"}, {"shm", "tmpfs", "mode=1777"}, {"mqueue", "mqueue", ""}} {
		if err := os.Mkdir("/dev/"+mount.name, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(mount.kind, "/dev/"+mount.name, mount.kind, 0, mount.options); err != nil {
			return fmt.Errorf("mounting /dev/%s: %w", mount.name, err)
		}
	}
	return nil
}
