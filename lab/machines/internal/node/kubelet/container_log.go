package kubelet

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// openLog is the container's log file on the machine, where a kubelet keeps it.
func (w *worker) openLog(container string) (*os.File, error) {
	folder := filepath.Join(logFolder(w.session.machine.RootFS(), w.pod.Namespace, w.pod.Name, string(w.pod.UID)), container)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(folder, "0.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Limits of a termination message: bytes and lines of one from the log, bytes of one from the file (kubernetes
// pkg/kubelet/container/runtime.go, MaxContainerTerminationMessage…).
const (
	messageLimit     = 2048
	messageLines     = 80
	fileMessageLimit = 4096
)

// tail keeps the end of what was written.
type tail struct {
	mutex sync.Mutex
	limit int
	data  []byte
}

func (t *tail) Write(data []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.data = append(t.data, data...)
	if extra := len(t.data) - t.limit; extra > 0 {
		t.data = append([]byte{}, t.data[extra:]...)
	}
	return len(data), nil
}

func (t *tail) text() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(bytes.ToValidUTF8(bytes.TrimSpace(t.data), nil))
}

// all is the text as it is.
func (t *tail) all() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(bytes.ToValidUTF8(t.data, nil))
}

// tee writes to both; the file may be missing. Programs and processes of a container write at the same time.
func tee(file *os.File, log *tail) io.Writer {
	both := &shared{to: log}
	if file != nil {
		both.to = io.MultiWriter(log, file)
	}
	return both
}

type shared struct {
	mutex sync.Mutex
	to    io.Writer
}

func (s *shared) Write(data []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.to.Write(data)
}
