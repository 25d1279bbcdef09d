// Command call is talosctl for a lab whose talosctl is kept ready (../ready): it hands its arguments, environment and
// streams to one that waits, and ends with that one's status. What takes long, and whatever comes while all that wait
// are at work, is the program's own.
//
// It lies beside `real`, the program, and the sockets and locks of those that wait: `0.socket`, `0.lock`, and so on. A lock is
// held as long as this process lives, so one that waits has one caller at a time.
package main

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"talos-gpu/lab/tools/talosctl/protocol"
)

func main() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		fail(err)
	}
	folder := filepath.Dir(program)
	if len(os.Args) > 1 && protocol.Brief[os.Args[1]] {
		for index := 0; ; index++ {
			name := filepath.Join(folder, strconv.Itoa(index))
			lock, err := syscall.Open(name+".lock", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
			if err != nil {
				break // there are no more of them
			}
			if syscall.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				if status, called := protocol.Call(name + ".socket"); called {
					os.Exit(status)
				}
			}
			syscall.Close(lock) //nolint:errcheck
		}
	}
	fail(syscall.Exec(filepath.Join(folder, "real"), append([]string{"talosctl"}, os.Args[1:]...), os.Environ()))
}

func fail(err error) {
	os.Stderr.WriteString("talosctl: " + err.Error() + "\n") //nolint:errcheck
	os.Exit(1)
}
