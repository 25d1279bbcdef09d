// Package smi answers as nvidia-smi does, for the forms that a GPU node's software uses: the table, -L, --query-gpu with
// --format=csv, -pl, -pm, -c and -i. Texts and number formats follow nvidia-smi 580.159 on two H200.
package smi

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// Exit codes of nvidia-smi (man nvidia-smi, "RETURN VALUE").
const (
	exitInvalidArgument = 2
	exitNoPermission    = 4
	exitNotFound        = 6
	exitNoDriver        = 9
	exitMismatch        = 18
)

// Driver is what nvidia-smi finds on the machine.
type Driver struct {
	Version, LibraryVersion string
	// Privileged says that the caller may change settings.
	Privileged bool
}

// Run answers a call and returns the exit code.
func Run(out io.Writer, args []string, driver Driver, cards []gpu.Card, settings *Settings) int {
	if driver.Version == "" {
		fmt.Fprintln(out, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
		return exitNoDriver
	}
	if driver.LibraryVersion != driver.Version {
		fmt.Fprintf(out, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: %s\n", majorMinor(driver.LibraryVersion))
		return exitMismatch
	}
	call, err := parse(args)
	if err != nil {
		fmt.Fprintln(out, err)
		return exitInvalidArgument
	}
	if call.id != "" {
		cards = only(cards, call.id)
		if len(cards) == 0 {
			fmt.Fprintf(out, "No devices were found\n")
			return exitNotFound
		}
	}
	if len(cards) == 0 {
		fmt.Fprintln(out, "No devices were found")
		return exitNotFound
	}
	switch {
	case call.power != nil:
		return setPower(out, *call.power, driver, cards, settings)
	case call.compute != "":
		return setCompute(out, call.compute, driver, cards, settings)
	case call.persistence != nil:
		return setPersistence(out, *call.persistence, driver, cards, settings)
	case call.query != nil:
		return query(out, call, driver, cards, settings)
	case call.list:
		for _, card := range cards {
			fmt.Fprintf(out, "GPU %d: %s (UUID: %s)\n", card.Index, card.ProductName(), card.UUID)
			for _, slice := range card.Slices {
				fmt.Fprintf(out, "  MIG %-11s Device %2d: (UUID: %s)\n", slice.Profile, slice.Index, slice.UUID)
			}
		}
		return 0
	}
	table(out, driver, cards, settings)
	return 0
}

type call struct {
	id                string
	list              bool
	power             *float64
	persistence       *bool
	compute           string
	query             []string
	noHeader, noUnits bool
}

func parse(args []string) (call, error) {
	parsed := call{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		take := func() string {
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			return value
		}
		switch name {
		case "-L", "--list-gpus":
			parsed.list = true
		case "-i", "--id":
			parsed.id = take()
		case "-pl", "--power-limit":
			watts, err := strconv.ParseFloat(take(), 64)
			if err != nil {
				return parsed, fmt.Errorf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
			}
			parsed.power = &watts
		case "-pm", "--persistence-mode":
			mode := take()
			on := mode == "1" || strings.EqualFold(mode, "enabled")
			parsed.persistence = &on
		case "-c", "--compute-mode":
			mode := strings.ToUpper(take())
			name, known := computeModes[mode]
			if !known {
				return parsed, fmt.Errorf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
			}
			parsed.compute = name
		case "--query-gpu":
			parsed.query = strings.Split(take(), ",")
		case "--format":
			format := take()
			parsed.noHeader = strings.Contains(format, "noheader")
			parsed.noUnits = strings.Contains(format, "nounits")
		case "-q", "--query":
			return parsed, fmt.Errorf("nvidia-smi -q is not emulated by the lab; use --query-gpu")
		default:
			return parsed, fmt.Errorf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nOption \"%s\" is not recognized.", args[i])
		}
	}
	return parsed, nil
}

func only(cards []gpu.Card, id string) []gpu.Card {
	var chosen []gpu.Card
	for _, wanted := range strings.Split(id, ",") {
		for _, card := range cards {
			if card.UUID == wanted || strconv.Itoa(card.Index) == wanted || busID(card) == wanted {
				chosen = append(chosen, card)
			}
		}
	}
	return chosen
}

func busID(card gpu.Card) string { return fmt.Sprintf("00000000:00:%02X.0", 6+card.Index) }

func majorMinor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}
