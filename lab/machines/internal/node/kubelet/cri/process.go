package cri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// termination is how long a real process may take to end by itself, in this computer's time.
const termination = 2 * time.Second

// process runs the container's argv for real, in a process group of its own: the host's shell or utility, with paths
// rewritten to those of this computer, and with emulated programs first on PATH.
func (c *Container) process(ctx context.Context) int {
	bin, err := c.programFolder()
	if err != nil {
		c.Logf("lab: %v", err)
		return 1
	}
	name := path.Base(c.Argv[0])
	if name == "ash" {
		name = "sh"
	}
	search := bin + ":/usr/local/bin:/usr/bin:/bin"
	executable := look(name, search)
	if executable == "" {
		executable = look("sh", search)
	}
	args := make([]string, 0, len(c.Argv))
	for _, argument := range c.Argv[1:] {
		args = append(args, c.Paths.Rewrite(argument))
	}
	command := exec.Command(executable, args...)
	command.Dir = c.folder
	command.Env = []string{"LANG=C.UTF-8"}
	for name, value := range c.Env {
		if name != "PATH" {
			command.Env = append(command.Env, name+"="+c.Paths.Rewrite(value))
		}
	}
	command.Env = append(command.Env, "PATH="+search)
	command.SysProcAttr = ownGroup()
	lines := &lineWriter{to: c.Output, edit: c.Paths.Restore}
	command.Stdout, command.Stderr = lines, lines
	// Children that the shell leaves behind may hold its output open; they are of the group, and go with it.
	command.WaitDelay = termination
	if err := command.Start(); err != nil {
		c.Logf("lab: %v", err)
		return 127
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err = <-done:
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	case <-ctx.Done():
		err = c.end(command, done)
	}
	lines.flush()
	return exitCode(err)
}

// end asks the process group to end and kills it when it does not. A group, because process 1 of a real container takes
// all others along.
func (c *Container) end(command *exec.Cmd, done <-chan error) error {
	group := -command.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case err := <-done:
		_ = syscall.Kill(group, syscall.SIGKILL)
		return err
	case <-time.After(termination):
		_ = syscall.Kill(group, syscall.SIGKILL)
		return <-done
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	case errors.Is(err, exec.ErrWaitDelay):
		return 0
	}
	return 1
}

func look(name, search string) string {
	for _, folder := range filepath.SplitList(search) {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// programFolder writes a command per emulated program, which hands over to this process (programServer), and the scaled
// clock's sleep. It goes first on PATH, so a script of the image finds them.
func (c *Container) programFolder() (string, error) {
	folder := filepath.Join(c.folder, "bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, private := range []string{"/tmp", "/root"} {
		_ = os.MkdirAll(c.Paths.Resolve(private), 0o755)
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	commands := map[string]string{"sleep": sleepCommand(c.Machine.Clock().Real(1000 * time.Second))}
	for name := range c.rule.Programs {
		commands[name] = fmt.Sprintf("#!/bin/sh\nexec '%s' program '%s' '%s' \"$@\"\n", self, c.programs.address(c), name)
	}
	if _, emulated := commands["nvidia-smi"]; !emulated {
		// This computer may have one of its own; the container has not.
		commands["nvidia-smi"] = "#!/bin/sh\necho 'nvidia-smi: not found' >&2\nexit 127\n"
	}
	for name, text := range commands {
		file := filepath.Join(folder, name)
		if have, err := os.ReadFile(file); err == nil && string(have) == text {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// sleepCommand is sleep in lab time, given how long 1000 lab seconds take. Not below a quarter of a second, nor below two where a
// script asks for half a lab minute: each round of a loop that looks whether all is still well starts several processes.
func sleepCommand(thousand time.Duration) string {
	return fmt.Sprintf(`#!/bin/sh
case "$1" in
  infinity) exec /bin/sleep 2147483 ;;
  *m) n=$((${1%%m} * 60)) ;;
  *h) n=$((${1%%h} * 3600)) ;;
  *s) n=${1%%s} ;;
  *) n=$1 ;;
esac
ms=$((${n%%.*} * %d / 1000))
least=250
[ "${n%%%%.*}" -ge 30 ] && least=2000
[ "$ms" -lt "$least" ] && ms=$least
exec /bin/sleep "$((ms / 1000)).$(printf %%03d $((ms %% 1000)))"
`, thousand.Milliseconds())
}

// lineWriter passes on whole lines, edited.
type lineWriter struct {
	mutex sync.Mutex
	to    io.Writer
	edit  func(string) string
	rest  []byte
}

func (l *lineWriter) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.rest = append(l.rest, data...)
	end := bytes.LastIndexByte(l.rest, '\n')
	if end < 0 {
		return len(data), nil
	}
	whole := string(l.rest[:end+1])
	l.rest = append([]byte{}, l.rest[end+1:]...)
	_, err := io.WriteString(l.to, l.edit(whole))
	return len(data), err
}

func (l *lineWriter) flush() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.rest) > 0 {
		_, _ = io.WriteString(l.to, l.edit(string(l.rest))+"\n")
		l.rest = nil
	}
}
