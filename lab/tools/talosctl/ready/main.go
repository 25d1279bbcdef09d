// Command ready keeps talosctl ready: processes that have loaded it and wait for a caller (../call). A talosctl that looks at
// something spends four fifths of its time on starting, and a test run starts ten thousand.
//
// `ready FOLDER COUNT` keeps COUNT of them, prints `{}` once all listen, and ends with its standard input. What a command is
// and does is the real program's own code; only its flags are given back between two callers.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/siderolabs/talos/cmd/talosctl/acompat"
	"github.com/siderolabs/talos/cmd/talosctl/cmd"
	"github.com/siderolabs/talos/cmd/talosctl/cmd/talos"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"talos-gpu/lab/tools/talosctl/protocol"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "wait" {
		wait(filepath.Join(os.Args[2], os.Args[3]))
	}
	count, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if len(os.Args) != 3 || err != nil {
		fail(fmt.Errorf("usage: %s FOLDER COUNT", os.Args[0]))
	}
	if err := keep(os.Args[1], count); err != nil {
		fail(err)
	}
}

// keep starts those that wait, and each anew when it ends.
func keep(folder string, count int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ready := make(chan struct{}, count)
	for index := range count {
		name := strconv.Itoa(index)
		if err := os.WriteFile(filepath.Join(folder, name+".lock"), nil, 0o600); err != nil {
			return err
		}
		go func() {
			for first := true; ; first = false {
				one := exec.Command(program, "wait", folder, name)
				one.Stderr = os.Stderr
				// The pipe closes with this process, however it ends.
				life, err := one.StdinPipe()
				if err == nil {
					err = start(one)
				}
				if err != nil {
					fail(err)
				}
				if first {
					ready <- struct{}{}
				}
				one.Wait() //nolint:errcheck // a caller that went in the middle ends it
				life.Close()
				time.Sleep(10 * time.Millisecond) // one that cannot wait at all must not take a core
			}
		}()
	}
	for range count {
		<-ready
	}
	fmt.Println("{}")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// start resolves once it listens.
func start(one *exec.Cmd) error {
	said, err := one.StdoutPipe()
	if err != nil {
		return err
	}
	if err := one.Start(); err != nil {
		return err
	}
	_, err = io.ReadFull(said, make([]byte, 1))
	return err
}

// wait serves callers, one after the other, until it is to end.
func wait(name string) {
	// The streams are the callers' from here on.
	life, err := syscall.Dup(0)
	if err != nil {
		fail(err)
	}
	syscall.CloseOnExec(life)
	go func() {
		io.Copy(io.Discard, os.NewFile(uintptr(life), "life")) //nolint:errcheck
		os.Exit(0)
	}()
	socket := name + ".socket"
	os.Remove(socket) //nolint:errcheck // that of one that has ended
	listener, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		fail(err)
	}
	if err := syscall.Bind(listener, &syscall.SockaddrUnix{Name: socket}); err != nil {
		fail(err)
	}
	if err := syscall.Listen(listener, 1); err != nil {
		fail(err)
	}
	os.Stdout.WriteString(".") //nolint:errcheck
	nothing, err := syscall.Open(os.DevNull, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		fail(err)
	}
	give := func(stdin, stdout, stderr int) {
		for stream, fd := range []int{stdin, stdout, stderr} {
			if err := syscall.Dup3(fd, stream, 0); err != nil {
				os.Exit(1)
			}
		}
	}
	give(nothing, nothing, nothing)
	for {
		caller, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			os.Exit(1)
		}
		request, streams, err := protocol.Receive(caller)
		if err == nil {
			err = protocol.Begin(caller)
		}
		if err != nil {
			os.Exit(1)
		}
		give(streams[0], streams[1], streams[2])
		for _, stream := range streams {
			syscall.Close(stream) //nolint:errcheck
		}
		status := serve(request, caller)
		unchanged := giveBack(talos.Commands[0].Root())
		// The caller's streams end before it does, as a program's own do.
		give(nothing, nothing, nothing)
		syscall.Write(caller, []byte{status}) //nolint:errcheck
		syscall.Close(caller)                 //nolint:errcheck
		if !unchanged {
			os.Exit(0)
		}
	}
}

// serve runs a command as the program itself does (cmd/talosctl/main.go). A caller that goes takes this process with it, as
// whoever ends a program means it.
func serve(request protocol.Request, caller int) byte {
	over := make(chan struct{})
	gone, err := syscall.Dup(caller)
	if err != nil {
		return 1
	}
	go func() {
		defer syscall.Close(gone)           //nolint:errcheck
		syscall.Read(gone, make([]byte, 1)) //nolint:errcheck // it says nothing more
		select {
		case <-over:
		default:
			os.Exit(1)
		}
	}()
	defer syscall.Shutdown(gone, syscall.SHUT_RD) //nolint:errcheck
	defer close(over)
	if err := os.Chdir(request.Directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Clearenv()
	for _, variable := range request.Environment {
		key, value, _ := strings.Cut(variable, "=")
		os.Setenv(key, value) //nolint:errcheck
	}
	os.Args = request.Arguments
	if cmd.Execute() != nil {
		return 1
	}
	return 0
}

// giveBack makes every flag what it was first; false where one cannot be, and this process must end.
func giveBack(command *cobra.Command) bool {
	all := true
	reset := func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		flag.Changed = false
		var err error
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			// A list that was set once is added to for ever (pflag, string_slice.go, Set): only an empty one can be given back.
			all = all && strings.Trim(flag.DefValue, "[]") == ""
			err = list.Replace([]string{})
		} else {
			err = flag.Value.Set(flag.DefValue)
		}
		all = all && err == nil
	}
	command.Flags().VisitAll(reset)
	command.PersistentFlags().VisitAll(reset)
	for _, child := range command.Commands() {
		all = giveBack(child) && all
	}
	return all
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "ready talosctl: %v\n", err)
	os.Exit(1)
}
