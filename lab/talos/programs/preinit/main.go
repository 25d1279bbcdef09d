// preinit is the first process of a machine that runs Talos on Debian's kernel: it loads what Talos' own kernel has built in, and
// then becomes Talos' init.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	order, err := os.ReadFile("/modules/order")
	say("its list of modules cannot be read", err)
	for name := range strings.FieldsSeq(string(order)) {
		say("module "+name+" cannot be loaded", load("/modules/"+name))
	}
	say("Talos' init cannot be started", unix.Exec("/init.talos", []string{"/init"}, os.Environ()))
}

func load(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := unix.FinitModule(int(file.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func say(problem string, err error) {
	if err != nil {
		fmt.Printf("preinit: %s: %v\n", problem, err)
	}
}
