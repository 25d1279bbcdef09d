// Package protocol is what a caller of talosctl and one that is kept ready say to each other: the caller's working directory,
// arguments and environment, with its three streams; then one byte that says that the work begins, and one byte, the status. It imports little, since a caller starts
// thousands of times in a test run.
package protocol

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
)

// Brief are the commands that one that is kept ready runs: those that end soon, and are started all the time. None of them keeps
// anything but its flags, all of which can be given back; `gen config` has one that cannot.
var Brief = map[string]bool{
	"apply-config": true, "dmesg": true, "get": true, "machineconfig": true, "read": true, "services": true, "version": true,
}

// Request is what a caller wants done.
type Request struct {
	Directory   string
	Arguments   []string
	Environment []string
}

const (
	word    = "\x00"
	part    = "\x01\x00"
	streams = 3
)

// begins is what one that is kept ready says before it does anything.
const begins = 1

// Call has one that is kept ready do what this process was started for. It says false where nothing has been done: nobody listens
// there, or who listens is about to end, as its last caller was killed.
func Call(socket string) (status int, called bool) {
	connection, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	if ask(connection, socket) != nil {
		syscall.Close(connection) //nolint:errcheck
		return 0, false
	}
	answer, err := one(connection)
	if err != nil {
		os.Stderr.WriteString("talosctl: the one that is kept ready has ended\n") //nolint:errcheck
		return 1, true
	}
	return int(answer), true
}

// ask returns once the work begins.
func ask(connection int, socket string) error {
	if err := syscall.Connect(connection, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return err
	}
	directory, err := syscall.Getwd()
	if err != nil {
		directory = "/"
	}
	request := strings.Join([]string{directory, strings.Join(os.Args, word), strings.Join(os.Environ(), word)}, part)
	head := binary.BigEndian.AppendUint32(nil, uint32(len(request)))
	if err := syscall.Sendmsg(connection, head, syscall.UnixRights(0, 1, 2), nil, syscall.MSG_NOSIGNAL); err != nil {
		return err
	}
	for rest := []byte(request); len(rest) > 0; {
		written, err := syscall.Write(connection, rest)
		if err != nil {
			return err
		}
		rest = rest[written:]
	}
	if said, err := one(connection); err != nil || said != begins {
		return errors.Join(errors.New("the work does not begin"), err)
	}
	return nil
}

// one reads a byte.
func one(connection int) (byte, error) {
	said := make([]byte, 1)
	for {
		read, err := syscall.Read(connection, said)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && read == 0 {
			err = errors.New("it has ended")
		}
		return said[0], err
	}
}

// Begin tells a caller that the work begins.
func Begin(connection int) error {
	_, err := syscall.Write(connection, []byte{begins})
	return err
}

// Receive reads a request, and the caller's streams.
func Receive(connection int) (Request, [streams]int, error) {
	var fds [streams]int
	head := make([]byte, 4)
	control := make([]byte, syscall.CmsgSpace(streams*4))
	read, controlRead, _, _, err := syscall.Recvmsg(connection, head, control, syscall.MSG_CMSG_CLOEXEC|syscall.MSG_WAITALL)
	if err != nil || read != len(head) {
		return Request{}, fds, errors.Join(errors.New("a caller said nothing"), err)
	}
	messages, err := syscall.ParseSocketControlMessage(control[:controlRead])
	if err != nil || len(messages) != 1 {
		return Request{}, fds, errors.Join(errors.New("a caller gave no streams"), err)
	}
	rights, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(rights) != streams {
		return Request{}, fds, errors.Join(errors.New("a caller gave other streams than three"), err)
	}
	copy(fds[:], rights)
	text := make([]byte, binary.BigEndian.Uint32(head))
	for filled := 0; filled < len(text); {
		read, err := syscall.Read(connection, text[filled:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || read == 0 {
			return Request{}, fds, errors.Join(errors.New("a caller went in the middle of a word"), err)
		}
		filled += read
	}
	parts := strings.SplitN(string(text), part, 3)
	if len(parts) != 3 {
		return Request{}, fds, errors.New("a caller said something else")
	}
	return Request{parts[0], strings.Split(parts[1], word), strings.Split(parts[2], word)}, fds, nil
}
