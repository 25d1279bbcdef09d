package driver

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/realnode/facts"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// SMI is nvidia-smi of the simulated driver, on the node and in its containers. A container has the cards whose devices
// it has.
func SMI(arguments []string) int {
	found, err := facts.Ask()
	if err != nil {
		fmt.Fprintf(os.Stderr, "nvidia-smi of the stand-in: %v\n", err)
		return 1
	}
	return smi(os.Stdout, arguments, found.Snapshot.DriverVersion, found.Snapshot.LibraryVersion, found.Visible(), files.MayAdminister())
}

// smi answers like nvidia-smi, in the forms that a stack's pods use: no argument, -L, --query-gpu without header and
// units, -pl, -pm and -i. Texts, number formats and exit codes follow nvidia-smi 580.159 on two H200, and its manual.
//
// It stores nothing. A card has its default limit, and persistence mode is on, as with Talos' extension. The power draw
// is that of an idle card, a tenth of its limit.
func smi(out io.Writer, arguments []string, version, libraries string, cards []gpu.Card, administrator bool) int {
	value := func(name string) (value string, given bool) {
		for i, argument := range arguments {
			if joined, is := strings.CutPrefix(argument, name+"="); is {
				return joined, true
			}
			if argument == name {
				return strings.Join(arguments[min(i+1, len(arguments)):min(i+2, len(arguments))], ""), true
			}
		}
		return "", false
	}
	fails := func(code int, format string, values ...any) int {
		fmt.Fprintf(out, format+"\n", values...)
		return code
	}
	if id, given := value("-i"); given {
		cards = slices.DeleteFunc(slices.Clone(cards), func(card gpu.Card) bool { return card.UUID != id && strconv.Itoa(card.Index) != id })
	}
	power, setsPower := value("-pl")
	_, setsMode := value("-pm")
	asked, asks := value("--query-gpu")
	_, lists := value("-L")
	switch {
	case version == "":
		return fails(9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
	case libraries != version:
		return fails(18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: %s", libraries)
	case slices.Contains(arguments, "--version"): // needs no card
		return fails(0, "NVIDIA-SMI version  : %s\nNVML version        : %[1]s\nDRIVER version      : %[1]s", version)
	case len(cards) == 0:
		return fails(6, "No devices were found")
	case (setsPower || setsMode) && !administrator:
		return fails(4, "Unable to change GPU %d: Insufficient Permissions\nTerminating early due to previous errors.", cards[0].Index)
	case setsMode:
		return fails(0, "All done.")
	case !setsPower && !asks && !lists && len(arguments) > 0:
		return fails(2, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
	}
	watts, _ := strconv.ParseFloat(power, 64)
	for _, card := range cards {
		switch {
		case setsPower && (watts < card.MinPowerW || watts > card.MaxPowerW):
			return fails(2, "Provided power limit %.2f W is not a valid power limit which should be between %.2f W and %.2f W for GPU %d\nTerminating early due to previous errors.",
				watts, card.MinPowerW, card.MaxPowerW, card.Index)
		case setsPower:
			fmt.Fprintf(out, "Power limit for GPU %d was set to %.2f W from %.2f W.\n", card.Index, watts, card.DefaultPowerW)
		case asks:
			properties := map[string]string{
				"index": strconv.Itoa(card.Index), "name": card.ProductName(), "uuid": card.UUID, "driver_version": version, "memory.total": strconv.Itoa(card.MemoryMiB),
				"utilization.gpu": "0", "persistence_mode": "Enabled", "power.limit": fmt.Sprintf("%.2f", card.DefaultPowerW), "power.draw": fmt.Sprintf("%.2f", card.DefaultPowerW/10),
				"power.min_limit": fmt.Sprintf("%.2f", card.MinPowerW), "power.max_limit": fmt.Sprintf("%.2f", card.MaxPowerW),
			}
			var row []string
			for _, name := range strings.Split(asked, ",") {
				property, known := properties[name]
				if !known {
					return fails(2, "Field %q is not a valid field to query.\n", name)
				}
				row = append(row, property)
			}
			fmt.Fprintln(out, strings.Join(row, ", "))
		default:
			fmt.Fprintf(out, "GPU %d: %s (UUID: %s)\n", card.Index, card.ProductName(), card.UUID)
		}
	}
	return 0
}
