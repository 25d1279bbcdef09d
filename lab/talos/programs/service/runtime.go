package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// libraries are where the toolkit's extension has the driver's library from Talos 1.13 on, and before.
var libraries = []string{"/usr/local/lib/libnvidia-ml.so.1", "/usr/local/glibc/usr/lib/libnvidia-ml.so.1"}

type object = map[string]any

// start is runc, whose containers get before what NVIDIA's runtime gives them: the devices of the cards that NVIDIA_VISIBLE_DEVICES names,
// and the driver's library (nvidia-container-toolkit, internal/modifier).
func start(args []string) error {
	if at := slices.Index(args, "--bundle") + 1; at > 0 && slices.Contains(args, "create") {
		file, config := filepath.Join(args[at], "config.json"), object{}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &config)
		}
		if err == nil {
			err = inject(config)
		}
		if text, failed := json.Marshal(config); err == nil && failed == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return syscall.Exec("/usr/bin/runc", append([]string{"runc"}, args...), os.Environ())
}

// inject adds to a container's specification (opencontainers/runtime-spec, config.md).
func inject(config object) error {
	var asked []string
	for _, variable := range config["process"].(object)["env"].([]any) {
		if value, is := strings.CutPrefix(variable.(string), "NVIDIA_VISIBLE_DEVICES="); is {
			asked = strings.Split(value, ",")
		}
	}
	if len(asked) == 0 || slices.Contains([]string{"", "void", "none"}, asked[0]) {
		return nil
	}
	add := func(to object, key string, item object) {
		list, _ := to[key].([]any)
		to[key] = append(list, item)
	}
	linux := config["linux"].(object)
	for _, path := range devices(asked) {
		var node unix.Stat_t
		if err := unix.Stat(path, &node); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		major, minor := unix.Major(node.Rdev), unix.Minor(node.Rdev)
		add(linux, "devices", object{"path": path, "type": "c", "major": major, "minor": minor, "fileMode": 0o666})
		add(linux["resources"].(object), "devices", object{"allow": true, "type": "c", "major": major, "minor": minor, "access": "rwm"})
	}
	at := slices.IndexFunc(libraries, func(file string) bool { _, err := os.Stat(file); return err == nil })
	if at >= 0 {
		add(config, "mounts", object{"source": libraries[at], "destination": "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "type": "bind", "options": []string{"bind", "ro"}})
	}
	return nil
}

// devices of the cards that are asked for, by number or by what NVML calls them, and of the driver.
func devices(asked []string) []string {
	paths := []string{"/dev/nvidiactl"}
	for index := 0; ; index++ {
		path, last := fmt.Sprintf("/dev/nvidia%d", index), fmt.Sprintf("-%012x", index)
		if _, err := os.Stat(path); err != nil {
			return paths
		}
		if slices.ContainsFunc(asked, func(one string) bool {
			return one == "all" || one == strconv.Itoa(index) || strings.HasSuffix(one, last)
		}) {
			paths = append(paths, path)
		}
	}
}
