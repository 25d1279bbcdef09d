// Package smi answers as nvidia-smi does, for the forms that pods of a stack use: nothing, -L, --query-gpu with --format=csv, -pl, -pm
// and -i. Texts and number formats follow nvidia-smi 580.159 on two H200.
package smi

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// Settings of a machine's cards, which live as long as its boot: limits in watts, and which have persistence mode off. It is on from the
// start: Talos' extension runs nvidia-persistenced.
type Settings struct {
	mutex  sync.Mutex
	limits map[string]float64
	off    map[string]bool
}

// NewSettings are those of a driver that has just been loaded.
func NewSettings() *Settings { return &Settings{limits: map[string]float64{}, off: map[string]bool{}} }

func (s *Settings) limit(card gpu.Card) float64 {
	if limit, set := s.limits[card.UUID]; set {
		return limit
	}
	return card.DefaultPowerW
}

// property of a card, with the unit that its value carries when units are wanted. Draw is of an idle card: a tenth of its limit.
func property(name string, card gpu.Card, s *Settings, driver Driver) (value, unit string, known bool) {
	watts := func(value float64) (string, string, bool) { return fmt.Sprintf("%.2f", value), " W", true }
	switch name {
	case "index":
		return strconv.Itoa(card.Index), "", true
	case "name":
		return card.ProductName(), "", true
	case "uuid":
		return card.UUID, "", true
	case "driver_version":
		return driver.Version, "", true
	case "memory.total":
		return strconv.Itoa(card.MemoryMiB), " MiB", true
	case "utilization.gpu":
		return "0", " %", true
	case "power.limit":
		return watts(s.limit(card))
	case "power.draw":
		return watts(s.limit(card) / 10)
	case "power.min_limit":
		return watts(card.MinPowerW)
	case "power.max_limit":
		return watts(card.MaxPowerW)
	case "persistence_mode":
		return map[bool]string{true: "Disabled", false: "Enabled"}[s.off[card.UUID]], "", true
	}
	return "", "", false
}

// Run answers a call and returns the exit code.
func Run(out io.Writer, args []string, driver Driver, cards []gpu.Card, s *Settings) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	option := func(names ...string) (value string, given bool) {
		for i, argument := range args {
			name, value, joined := strings.Cut(argument, "=")
			if !slices.Contains(names, name) {
				continue
			}
			if !joined && i+1 < len(args) {
				value = args[i+1]
			}
			return value, true
		}
		return "", false
	}
	fails := func(code int, format string, values ...any) int {
		fmt.Fprintf(out, format+"\n", values...)
		return code
	}
	if id, given := option("-i", "--id"); given {
		cards = slices.DeleteFunc(slices.Clone(cards), func(card gpu.Card) bool { return card.UUID != id && strconv.Itoa(card.Index) != id })
	}
	power, setsPower := option("-pl", "--power-limit")
	mode, setsMode := option("-pm", "--persistence-mode")
	asked, asks := option("--query-gpu")
	_, lists := option("-L", "--list-gpus")
	switch {
	case driver.Version == "":
		return fails(exitNoDriver, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
	case driver.LibraryVersion != driver.Version:
		return fails(exitMismatch, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: %s", driver.LibraryVersion)
	case len(cards) == 0:
		return fails(exitNotFound, "No devices were found")
	case (setsPower || setsMode) && !driver.Privileged:
		return fails(exitNoPermission, "Unable to change GPU %d: Insufficient Permissions\nTerminating early due to previous errors.", cards[0].Index)
	case setsPower:
		watts, _ := strconv.ParseFloat(power, 64)
		for _, card := range cards {
			if watts < card.MinPowerW || watts > card.MaxPowerW {
				return fails(exitInvalidArgument, "Provided power limit %.2f W is not a valid power limit which should be between %.2f W and %.2f W for GPU %d\nTerminating early due to previous errors.",
					watts, card.MinPowerW, card.MaxPowerW, card.Index)
			}
			fmt.Fprintf(out, "Power limit for GPU %d was set to %.2f W from %.2f W.\n", card.Index, watts, s.limit(card))
			s.limits[card.UUID] = watts
		}
		return fails(0, "All done.")
	case setsMode:
		for _, card := range cards {
			s.off[card.UUID] = mode != "1" && !strings.EqualFold(mode, "enabled")
		}
		return fails(0, "All done.")
	case asks:
		format, _ := option("--format")
		return query(out, strings.Split(asked, ","), format, driver, cards, s)
	case !lists && len(args) > 0:
		return fails(exitInvalidArgument, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
	case !lists:
		fmt.Fprintf(out, "NVIDIA-SMI %s  Driver Version: %s  CUDA Version: %s\n", driver.Version, driver.Version, gpu.CUDAVersion(driver.Version))
	}
	for _, card := range cards {
		fmt.Fprintf(out, "GPU %d: %s (UUID: %s)\n", card.Index, card.ProductName(), card.UUID)
	}
	return 0
}

func query(out io.Writer, names []string, format string, driver Driver, cards []gpu.Card, s *Settings) int {
	var header []string
	for _, name := range names {
		_, unit, known := property(name, cards[0], s, driver)
		if !known {
			fmt.Fprintf(out, "Field %q is not a valid field to query.\n\n", name)
			return exitInvalidArgument
		}
		if unit != "" {
			name += " [" + unit[1:] + "]"
		}
		header = append(header, name)
	}
	if !strings.Contains(format, "noheader") {
		fmt.Fprintln(out, strings.Join(header, ", "))
	}
	for _, card := range cards {
		var row []string
		for _, name := range names {
			value, unit, _ := property(name, card, s, driver)
			if !strings.Contains(format, "nounits") {
				value += unit
			}
			row = append(row, value)
		}
		fmt.Fprintln(out, strings.Join(row, ", "))
	}
	return 0
}
