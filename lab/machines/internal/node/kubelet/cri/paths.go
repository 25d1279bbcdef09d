package cri

import (
	"path/filepath"
	"slices"
	"strings"
)

// Paths maps paths of a container to paths of this computer. A real container has its own mount namespace; the lab must
// run without root, so it rewrites the paths in what the container runs instead: in its arguments, environment values and
// mounted scripts.
type Paths struct {
	mounts []mount
}

type mount struct {
	inside, outside string
	// prefix says that inside is the beginning of a name, as in /dev/nvidia0, not a whole one.
	prefix bool
}

// privateFolders of a container: where scripts write. Not rewritten, a script would write into this computer's.
var privateFolders = []string{"/tmp", "/run", "/var", "/root", "/home", "/opt", "/mnt", "/srv", "/data", "/models", "/host", "/workspace", "/config"}

// streams are devices that every container shares with this computer.
var streams = []string{"/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/dev/tty", "/dev/random", "/dev/urandom"}

// NewPaths: mounts from inside to outside, over a private root for the rest. Devices says whether the container has the
// NVIDIA device nodes. /proc/driver/nvidia is the kernel's, and shows in every container.
func NewPaths(mounts map[string]string, rootFS, private string, devices bool) Paths {
	paths := PathsOf(mounts)
	add := func(m mount) {
		if !slices.ContainsFunc(paths.mounts, func(have mount) bool { return have.inside == m.inside }) {
			paths.mounts = append(paths.mounts, m)
		}
	}
	for _, folder := range privateFolders {
		add(mount{inside: folder, outside: filepath.Join(private, folder)})
	}
	for _, stream := range streams {
		add(mount{inside: stream, outside: stream})
	}
	add(mount{inside: "/proc/driver/nvidia", outside: filepath.Join(rootFS, "proc/driver/nvidia")})
	add(mount{inside: "/proc/modules", outside: filepath.Join(rootFS, "proc/modules")})
	nodes := filepath.Join(private, "dev/nvidia")
	if devices {
		nodes = filepath.Join(rootFS, "dev/nvidia")
	}
	add(mount{inside: "/dev/nvidia", outside: nodes, prefix: true})
	slices.SortFunc(paths.mounts, func(a, b mount) int { return len(b.inside) - len(a.inside) })
	return paths
}

// Rewrite replaces every path of the container in a text by the path of this computer.
func (p Paths) Rewrite(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] == '/' && (i == 0 || !continuesPath(text[i-1])) {
			if m, found := p.at(text[i:]); found {
				out.WriteString(m.outside)
				i += len(m.inside)
				continue
			}
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

// at is the longest mount with which the text begins.
func (p Paths) at(text string) (mount, bool) {
	for _, m := range p.mounts {
		if !strings.HasPrefix(text, m.inside) {
			continue
		}
		if m.prefix || len(text) == len(m.inside) || !isNameByte(text[len(m.inside)]) {
			return m, true
		}
	}
	return mount{}, false
}

// continuesPath says that a slash after this byte belongs to a longer path, e.g. after "$ROOT", "a" or another slash.
func continuesPath(before byte) bool {
	return isNameByte(before) || before == '/' || before == '}' || before == '*' || before == '?'
}

func isNameByte(b byte) bool {
	return b == '_' || b == '.' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// Resolve is the path of this computer for one path of the container.
func (p Paths) Resolve(inside string) string { return p.Rewrite(filepath.Clean(inside)) }

// Restore turns paths of this computer in a text, a log line, back into the container's.
func (p Paths) Restore(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	byOutside := slices.Clone(p.mounts)
	slices.SortFunc(byOutside, func(a, b mount) int { return len(b.outside) - len(a.outside) })
	for _, m := range byOutside {
		if m.outside != m.inside {
			text = strings.ReplaceAll(text, m.outside, m.inside)
		}
	}
	return text
}

// PathsOf are a container's paths where nothing but the mounts matters, inside to outside.
func PathsOf(mounts map[string]string) Paths {
	paths := Paths{}
	for inside, outside := range mounts {
		paths.mounts = append(paths.mounts, mount{inside: filepath.Clean(inside), outside: filepath.Clean(outside)})
	}
	return paths
}
