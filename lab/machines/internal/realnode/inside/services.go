//go:build linux

package inside

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// keep runs a program with a log of its own, and starts it again whenever it ends, as Talos does; pods go on meanwhile.
func keep(spec *boot.Spec, argv ...string) error {
	name := filepath.Base(argv[0])
	log, err := os.OpenFile(filepath.Join(spec.Folder, "logs", name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	for {
		command := exec.Command(argv[0], argv[1:]...)
		command.Stdout, command.Stderr = log, log
		command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
		if err := command.Start(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%s ended: %v, and is started again\n", name, cmp.Or(command.Wait(), errors.New("by itself")))
		time.Sleep(spec.RestartAfter)
	}
}

// waitForContainerd waits for its socket, which is there as soon as it answers.
func waitForContainerd() error {
	const limit = 90 * time.Second
	for began := time.Now(); !files.Exists("/run/containerd/containerd.sock"); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > limit {
			return fmt.Errorf("containerd is not up after %s", limit)
		}
	}
	return nil
}
