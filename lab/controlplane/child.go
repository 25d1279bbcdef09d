package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// childCommand is the subcommand under which `up` starts its children: the component, tied to its parent's life.
const childCommand = "child"

// tailBytes is how much of a dead child's log an error quotes: some 30 lines of klog.
const tailBytes = 6 << 10

// child is one component running as a process of its own.
type child struct {
	name    string
	logPath string
	command *exec.Cmd
	// lifeline is the write end of the child's standard input, see exitWithParent.
	lifeline io.Closer
	// ended is closed once the process is gone and waited for; result is its outcome from then on.
	ended  chan struct{}
	result error
	// retired is set before it is ended for another one to follow.
	retired atomic.Bool
}

// startChild starts a component of this very binary, its output going to logs/<name>.log.
func startChild(logs, name string, flags []string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the path of this program to start %s: %w", name, err)
	}
	c := &child{name: name, logPath: filepath.Join(logs, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(c.logPath)
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", name, err)
	}
	defer log.Close()
	c.command = exec.Command(self, append([]string{childCommand, name}, flags...)...)
	c.command.Env = componentEnvironment()
	c.command.Stdout, c.command.Stderr = log, log
	// A group of its own: Ctrl-C in a terminal reaches `up` alone, which then stops its children in order.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	lifeline, err := c.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making the standard input of %s: %w", name, err)
	}
	c.lifeline = lifeline
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		c.result = c.command.Wait()
		close(c.ended)
	}()
	return c, nil
}

// componentEnvironment is ours without etcd's: it takes every flag from ETCD_* variables too and refuses the unknown.
func componentEnvironment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ETCD_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// stop kills the child and waits until it is gone. There is no state worth an orderly shutdown.
func (c *child) stop() {
	_ = c.command.Process.Kill()
	<-c.ended
	_ = c.lifeline.Close()
}

// death describes the end of a child that should have stayed.
func (c *child) death() error {
	outcome := "ended by itself"
	if c.result != nil {
		outcome = "died (" + c.result.Error() + ")"
	}
	return fmt.Errorf("%s %s, and a control plane without it cannot serve; read the end of its log and mend what it names:\n%s",
		c.name, outcome, c.logTail())
}

// portTaken says whether the child died because another process took its port between our choice and its bind.
func (c *child) portTaken() bool {
	return bytes.Contains(c.logTail(), []byte("address already in use"))
}

// logTail is the end of the child's log, from the start of a line.
func (c *child) logTail() []byte {
	content, err := os.ReadFile(c.logPath)
	if err != nil {
		return []byte("(its log cannot be read: " + err.Error() + ")")
	}
	if len(content) > tailBytes {
		content = content[len(content)-tailBytes:]
		content = content[bytes.IndexByte(content, '\n')+1:]
	}
	return bytes.TrimSpace(content)
}
