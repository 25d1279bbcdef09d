package logs

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Open is a container's log file on the machine, where a kubelet keeps it.
func Open(rootFS string, pod *corev1.Pod, container string) (*os.File, error) {
	folder := filepath.Join(folderOf(rootFS, pod.Namespace, pod.Name, string(pod.UID)), container)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(folder, "0.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// Tail keeps the end of what was written.
type Tail struct {
	mutex sync.Mutex
	limit int
	data  []byte
}

// NewTail keeps that many bytes.
func NewTail(limit int) *Tail { return &Tail{limit: limit} }

func (t *Tail) Write(data []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.data = append(t.data, data...)
	if extra := len(t.data) - t.limit; extra > 0 {
		t.data = append([]byte{}, t.data[extra:]...)
	}
	return len(data), nil
}

// Text is what was kept, without space around it.
func (t *Tail) Text() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(bytes.ToValidUTF8(bytes.TrimSpace(t.data), nil))
}

// All is what was kept, as it is.
func (t *Tail) All() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return string(bytes.ToValidUTF8(t.data, nil))
}

// Tee writes to both; the file may be missing. Programs and processes of a container write at the same time.
func Tee(file *os.File, log *Tail) io.Writer {
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
