package smi

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// property of a card: unit for the header and the value; a number carries its unit when units are wanted.
type property struct {
	unit  string
	value func(gpu.Card, Setting, Driver) string
}

func watts(value float64) string { return fmt.Sprintf("%.2f", value) }

// properties of --query-gpu. Draw and temperature are of an idle card: a tenth of its limit, 38 °C.
var properties = map[string]property{
	"index":                {"", func(c gpu.Card, _ Setting, _ Driver) string { return strconv.Itoa(c.Index) }},
	"count":                {"", func(c gpu.Card, _ Setting, _ Driver) string { return strconv.Itoa(max(c.Count, 1)) }},
	"name":                 {"", func(c gpu.Card, _ Setting, _ Driver) string { return c.ProductName() }},
	"gpu_name":             {"", func(c gpu.Card, _ Setting, _ Driver) string { return c.ProductName() }},
	"uuid":                 {"", func(c gpu.Card, _ Setting, _ Driver) string { return c.UUID }},
	"gpu_uuid":             {"", func(c gpu.Card, _ Setting, _ Driver) string { return c.UUID }},
	"pci.bus_id":           {"", func(c gpu.Card, _ Setting, _ Driver) string { return busID(c) }},
	"driver_version":       {"", func(_ gpu.Card, _ Setting, d Driver) string { return d.Version }},
	"memory.total":         {"MiB", func(c gpu.Card, _ Setting, _ Driver) string { return strconv.Itoa(c.MemoryMiB) }},
	"memory.free":          {"MiB", func(c gpu.Card, _ Setting, _ Driver) string { return strconv.Itoa(c.MemoryMiB) }},
	"memory.used":          {"MiB", func(gpu.Card, Setting, Driver) string { return "0" }},
	"utilization.gpu":      {"%", utilization},
	"utilization.memory":   {"%", utilization},
	"temperature.gpu":      {"", func(gpu.Card, Setting, Driver) string { return "38" }},
	"power.limit":          {"W", func(_ gpu.Card, s Setting, _ Driver) string { return watts(s.PowerLimit) }},
	"enforced.power.limit": {"W", func(_ gpu.Card, s Setting, _ Driver) string { return watts(s.PowerLimit) }},
	"power.default_limit":  {"W", func(c gpu.Card, _ Setting, _ Driver) string { return watts(c.DefaultPowerW) }},
	"power.min_limit":      {"W", func(c gpu.Card, _ Setting, _ Driver) string { return watts(c.MinPowerW) }},
	"power.max_limit":      {"W", func(c gpu.Card, _ Setting, _ Driver) string { return watts(c.MaxPowerW) }},
	"power.draw":           {"W", func(_ gpu.Card, s Setting, _ Driver) string { return watts(s.PowerLimit / 10) }},
	"persistence_mode":     {"", func(_ gpu.Card, s Setting, _ Driver) string { return enabled(s.Persistence) }},
	"compute_mode":         {"", func(_ gpu.Card, s Setting, _ Driver) string { return cmp.Or(s.ComputeMode, ComputeDefault) }},
	"compute_cap":          {"", func(c gpu.Card, _ Setting, _ Driver) string { return c.ComputeCapability }},
	"mig.mode.current": {"", func(c gpu.Card, _ Setting, _ Driver) string {
		if c.MIG != nil {
			return enabled(c.Split)
		}
		return "[N/A]"
	}},
}

// utilization of a card whose multi-instance mode is on is not known (NVIDIA MIG user guide, "Monitoring").
func utilization(c gpu.Card, _ Setting, _ Driver) string {
	if c.Split {
		return "[N/A]"
	}
	return "0"
}

func enabled(on bool) string {
	if on {
		return "Enabled"
	}
	return "Disabled"
}

func query(out io.Writer, call call, driver Driver, cards []gpu.Card, settings *Settings) int {
	var header []string
	for i, name := range call.query {
		name = strings.TrimSpace(name)
		call.query[i] = name
		known, found := properties[name]
		if !found {
			fmt.Fprintf(out, "Field \"%s\" is not a valid field to query.\n\n", name)
			return exitInvalidArgument
		}
		if known.unit != "" {
			name += " [" + known.unit + "]"
		}
		header = append(header, name)
	}
	if !call.noHeader {
		fmt.Fprintln(out, strings.Join(header, ", "))
	}
	for _, card := range cards {
		var row []string
		for _, name := range call.query {
			value := properties[name].value(card, settings.of(card), driver)
			if unit := properties[name].unit; unit != "" && !call.noUnits && value != "[N/A]" {
				value += " " + unit
			}
			row = append(row, value)
		}
		fmt.Fprintln(out, strings.Join(row, ", "))
	}
	return 0
}

func table(out io.Writer, driver Driver, cards []gpu.Card, settings *Settings) {
	const bar = "+-----------------------------------------------------------------------------------------+\n"
	const columns = "+-----------------------------------------+------------------------+----------------------+\n"
	fmt.Fprint(out, bar)
	fmt.Fprintf(out, "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-8s |\n", driver.Version, driver.Version, gpu.CUDAVersion(driver.Version))
	fmt.Fprint(out, columns)
	fmt.Fprint(out, "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n")
	fmt.Fprint(out, "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n")
	fmt.Fprint(out, "|=========================================+========================+======================|\n")
	for _, card := range cards {
		setting := settings.of(card)
		persistence := "Off"
		if setting.Persistence {
			persistence = "On"
		}
		fmt.Fprintf(out, "| %3d  %-27.27s %5s  |   %s Off |                  N/A |\n", card.Index, card.ProductName(), persistence, busID(card))
		fmt.Fprintf(out, "| N/A   38C    P0            %4.0fW / %4.0fW |   %6dMiB / %6dMiB |      0%%      Default |\n", setting.PowerLimit/10, setting.PowerLimit, 0, card.MemoryMiB)
		fmt.Fprint(out, columns)
	}
}
