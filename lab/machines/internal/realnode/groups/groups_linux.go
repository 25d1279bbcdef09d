// Package groups makes the node's control groups, outside of the node and in the node.
package groups

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Groups are the node's control groups on this computer: one folder in version 2, and one for each controller in
// version 1. In the node's control group namespace they are the root, like the machine's root for Talos' kubelet.
type Groups struct {
	folders []string
}

func unified() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// own returns the groups of this process: the folder below the mount, by controllers.
func own() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 {
			found[parts[1]] = parts[2]
		}
	}
	return found, nil
}

// Make makes the groups of a node.
func Make(name string) (Groups, error) {
	made := Groups{}
	if unified() {
		// The folder is directly below the root. A group with processes cannot delegate controllers to its children,
		// and this process' group may be such a group.
		made.folders = []string{filepath.Join("/sys/fs/cgroup", name)}
	} else {
		mine, err := own()
		if err != nil {
			return made, err
		}
		for controllers := range mine {
			mount := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(controllers, "name="))
			if _, err := os.Stat(filepath.Join(mount, "cgroup.procs")); controllers != "" && err == nil {
				made.folders = append(made.folders, filepath.Join(mount, name))
			}
		}
	}
	for _, folder := range made.folders {
		if err := os.Mkdir(folder, 0o755); err != nil {
			made.Remove()
			return made, fmt.Errorf("the node's control group: %w; a real node needs control groups that it may write", err)
		}
		// These files are empty in a new cpuset of version 1, which then accepts no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(folder), file)); err == nil && !unified() {
				_ = os.WriteFile(filepath.Join(folder, file), text, 0o644)
			}
		}
	}
	return made, nil
}

// Take puts a process into the groups.
func (g Groups) Take(pid int) error {
	for _, folder := range g.folders {
		if err := os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("the node's control group: %w", err)
		}
	}
	return nil
}

// Remove waits until the kernel has released the node's processes. Then it removes the groups and those that kubelet
// and runc made in them.
func (g Groups) Remove() {
	deadline := time.Now().Add(10 * time.Second)
	for _, folder := range g.folders {
		for {
			left := removeTree(folder)
			if left == nil || time.Now().After(deadline) {
				break
			}
			time.Sleep(50 * time.Millisecond) // in version 1 the kernel does not signal that a control group is empty
		}
	}
}

func removeTree(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			_ = removeTree(filepath.Join(folder, entry.Name()))
		}
	}
	return syscall.Rmdir(folder)
}

// Enter makes the process' groups the root that it and its children see. A namespace belongs to a thread. So the
// process executes this binary again, with the arguments next and only this thread.
func Enter(next ...string) error {
	runtime.LockOSThread()
	const newCgroup = 0x02000000 // CLONE_NEWCGROUP
	if err := syscall.Unshare(newCgroup); err != nil {
		return fmt.Errorf("a control group namespace: %w", err)
	}
	return syscall.Exec("/proc/self/exe", next, os.Environ())
}

// Mount mounts the groups where the kubelet expects them.
func Mount() error {
	if unified() {
		// The existing mount shows this computer's root, and prevents a second mount at the same path.
		if err := syscall.Unmount("/sys/fs/cgroup", syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("taking this computer's control groups away: %w", err)
		}
		if err := syscall.Mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
			return fmt.Errorf("mounting control groups: %w", err)
		}
		// When controllers are delegated, only leaves may have processes.
		const leaf = "/sys/fs/cgroup/init"
		if err := os.Mkdir(leaf, 0o755); err != nil {
			return err
		}
		for _, process := range []string{"0", "1"} { // this process, and the node's first
			if err := os.WriteFile(leaf+"/cgroup.procs", []byte(process), 0o644); err != nil {
				return err
			}
		}
		text, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
		if err != nil {
			return err
		}
		for _, controller := range strings.Fields(string(text)) {
			_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+"+controller), 0o644)
		}
		return nil
	}
	mine, err := own()
	if err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for controllers := range mine {
		if controllers == "" {
			continue
		}
		folder := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(controllers, "name="))
		options := controllers
		if strings.HasPrefix(controllers, "name=") {
			options = "none," + controllers
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("cgroup", folder, "cgroup", 0, options); err != nil {
			_ = os.Remove(folder)
		}
	}
	return nil
}
