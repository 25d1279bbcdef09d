//go:build linux

package inside

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"talos-gpu/lab/machines/internal/realnode/boot"
)

// startLimit is how long a service has to come up.
const startLimit = 90 * time.Second

// service is a program that the node runs as long as it is up.
type service struct {
	name string
	argv []string
	// answers says whether it is up.
	answers func() error
}

// start runs the service and waits until it is up. The channel says how it ended.
func (s service) start(spec *boot.Spec) (<-chan error, error) {
	ended, err := s.run(spec)
	if err != nil {
		return nil, err
	}
	deadline := time.After(startLimit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.answers()
		if err == nil {
			return ended, nil
		}
		select {
		case end := <-ended:
			return nil, end
		case <-deadline:
			return nil, fmt.Errorf("%s is not up after %s: %w", s.name, startLimit, err)
		case <-tick.C:
		}
	}
}

// keep starts the service again whenever it ends, as Talos does; pods go on meanwhile.
func (s service) keep(spec *boot.Spec, ended <-chan error) error {
	for {
		fmt.Fprintf(os.Stderr, "%v, and is started again\n", <-ended)
		time.Sleep(spec.RestartAfter)
		var err error
		if ended, err = s.run(spec); err != nil {
			return err
		}
	}
}

// run runs the service, with a log of its own.
func (s service) run(spec *boot.Spec) (<-chan error, error) {
	log, err := os.OpenFile(filepath.Join(spec.Folder, "logs", s.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(s.argv[0], s.argv[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- fmt.Errorf("%s ended: %w", s.name, cmp.Or(command.Wait(), errors.New("by itself"))) }()
	return ended, nil
}

// kubeletAnswers asks the kubelet whether it is well.
func kubeletAnswers() error {
	answer, err := http.Get("http://127.0.0.1:10248/healthz")
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s", answer.Status)
	}
	return nil
}
