// Package realnode runs the Kubernetes part of one machine for real, in separate namespaces: kubelet, containerd, runc,
// CNI plugins, NVIDIA's runtime and the cluster's pods. Files are where Talos 1.13 and its extensions have them, for
// every release. The toolkit is that of the image or the nearest one. A real node needs root. Everything is in the
// namespaces of one process and in one folder, so nothing is left when that process ends.
package realnode

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/reach"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/cable"
	"talos-gpu/lab/machines/internal/realnode/driver"
	"talos-gpu/lab/machines/internal/realnode/emulated"
	"talos-gpu/lab/machines/internal/realnode/facts"
	"talos-gpu/lab/machines/internal/realnode/groups"
	"talos-gpu/lab/machines/internal/realnode/images"
	"talos-gpu/lab/machines/internal/realnode/inside"
	"talos-gpu/lab/machines/internal/realnode/virtual"
)

// Main runs the commands of a real node, and its programs when this binary has their name. It returns false for other
// arguments.
func Main(arguments []string) (handled bool, code int) {
	switch filepath.Base(arguments[0]) {
	case "runc":
		return true, inside.Runc(arguments)
	case inside.ProcCommand:
		return true, inside.ShowDriver(os.Stdin)
	case "nvidia-smi":
		return true, driver.SMI(arguments[1:])
	case virtual.Command:
		return true, failed(virtual.Serve(arguments[1:]))
	}
	if len(arguments) > 5 && arguments[1] == "virtual-images" {
		return true, failed(images.ServeVirtual(arguments[2:]))
	}
	if image := os.Getenv(emulated.ImageVariable); image != "" {
		return true, emulated.Run(image, arguments)
	}
	return inside.Main(arguments)
}

// failed prints an error, and returns the exit code.
func failed(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%v\n", err)
	return 1
}

// run runs the node of one boot in separate namespaces, until ctx or the node ends.
func run(ctx context.Context, spec *boot.Spec, config Config, machine host.Machine) error {
	for _, folder := range []string{"programs", "images", "logs"} {
		if err := os.MkdirAll(filepath.Join(spec.Folder, folder), 0o700); err != nil {
			return err
		}
	}
	path := filepath.Join(spec.Folder, "spec.json")
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	stop, err := cable.ServeAPI(spec)
	if err != nil {
		return err
	}
	defer stop()
	stopFacts, err := facts.Serve(spec, config.Authority, machine)
	if err != nil {
		return err
	}
	defer stopFacts()
	if err := driver.Prepare(spec); err != nil {
		return err
	}
	own, err := groups.Make(groupName(spec.Name))
	if err != nil {
		return err
	}
	defer own.Remove()
	return live(ctx, spec, path, own, config.Kubelets)
}

// groupName begins with the name of the lab's folder. The lab's janitor uses this prefix to find what a killed node has
// left.
func groupName(node string) string {
	lab := filepath.Base(os.Getenv("TALOS_GPU_LAB"))
	if lab == "." {
		lab = "talos-gpu-node"
	}
	return fmt.Sprintf("%s-%s-%d", lab, node, os.Getpid())
}

func live(ctx context.Context, spec *boot.Spec, path string, own groups.Groups, kubelets *reach.Table) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(spec.Folder, "logs", "node.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(self, inside.EnterCommand, path)
	command.Stdout, command.Stderr = log, log
	// The environment lacks the lab's mark, TALOS_GPU_LAB. The lab's cleanup need not find the node's processes,
	// because they end with this one.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true,
	}
	begin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the node in namespaces of its own: %w; root without CAP_SYS_ADMIN cannot", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	fail := func(err error) error {
		_ = command.Process.Kill()
		<-ended
		return err
	}
	if err := own.Take(command.Process.Pid); err != nil {
		return fail(err)
	}
	network, err := cable.Connect(command.Process.Pid, groupName(spec.Name))
	if err != nil {
		return fail(err)
	}
	kubelets.Put(spec.Address, boot.Address(network))
	defer kubelets.Put(spec.Address, "")
	if _, err := fmt.Fprintln(begin, network); err != nil {
		return fail(err)
	}
	select {
	case err := <-ended:
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w: %s; its logs are in %s", cmp.Or(err, errors.New("by itself")), strings.TrimSpace(string(said)), filepath.Join(spec.Folder, "logs"))
	case <-ctx.Done():
		return fail(nil)
	}
}
