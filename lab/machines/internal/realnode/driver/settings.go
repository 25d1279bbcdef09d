//go:build linux

package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/capabilities"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/smi"
)

// settingsSocket is where the stand-in's nvidia-smi, in whichever container, asks the node for its cards' settings. It is the persistence daemon's on a
// real machine: NVIDIA's toolkit brings it into containers (nvidia-container-toolkit v1.19.1 internal/discover/ipc.go).
const settingsSocket = "/run/nvidia-persistenced/socket"

// question is a call of the stand-in's nvidia-smi.
type question struct {
	Args []string `json:"args"`
	// Cards whose devices the caller sees, by index.
	Cards []int `json:"cards"`
	// Administrator says that the caller has CAP_SYS_ADMIN.
	Administrator bool `json:"administrator"`
}

type reply struct {
	Code   int    `json:"code"`
	Output string `json:"output"`
}

// serveSettings answers for the cards of the stand-in, whose settings live as long as the boot.
func serveSettings(spec *boot.Spec) error {
	if err := os.MkdirAll(filepath.Dir(settingsSocket), 0o755); err != nil {
		return err
	}
	listener, err := net.Listen("unix", settingsSocket)
	if err != nil {
		return err
	}
	settings := smi.NewSettings()
	go func() {
		for {
			caller, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer caller.Close()
				var asked question
				if json.NewDecoder(caller).Decode(&asked) != nil {
					return
				}
				var cards []gpu.Card
				for _, index := range asked.Cards {
					if index < len(spec.Cards) {
						cards = append(cards, spec.Cards[index])
					}
				}
				output := &bytes.Buffer{}
				driver := smi.Driver{Version: spec.Driver, LibraryVersion: spec.Libraries, Privileged: asked.Administrator}
				code := smi.Run(output, asked.Args, driver, cards, settings)
				_ = json.NewEncoder(caller).Encode(reply{Code: code, Output: output.String()})
			}()
		}
	}()
	return os.Chmod(settingsSocket, 0o777)
}

// SMI is nvidia-smi of the stand-in.
func SMI(arguments []string) int {
	asked := question{Args: arguments, Administrator: capabilities.MayAdminister()}
	for index := 0; files.Exists(fmt.Sprintf("/dev/nvidia%d", index)) || index < 16; index++ {
		if files.Exists(fmt.Sprintf("/dev/nvidia%d", index)) {
			asked.Cards = append(asked.Cards, index)
		}
	}
	node, err := net.Dial("unix", settingsSocket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "nvidia-smi of the stand-in: %v\n", err)
		return 1
	}
	defer node.Close()
	var answer reply
	if err := json.NewEncoder(node).Encode(asked); err == nil {
		err = json.NewDecoder(node).Decode(&answer)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nvidia-smi of the stand-in: %v\n", err)
		return 1
	}
	fmt.Print(answer.Output)
	return answer.Code
}
