package smi

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// Setting of a card that can be changed.
type Setting struct {
	PowerLimit  float64 `json:"powerLimit"` // watts
	Persistence bool    `json:"persistence"`
	// ComputeMode as nvidia-smi prints it; "" is Default.
	ComputeMode string `json:"computeMode,omitempty"`
}

// Compute modes as nvidia-smi prints them.
const (
	ComputeDefault   = "Default"
	ComputeExclusive = "Exclusive_Process"
)

// computeModes by what -c takes.
var computeModes = map[string]string{
	"0": ComputeDefault, "DEFAULT": ComputeDefault, "2": "Prohibited", "PROHIBITED": "Prohibited",
	"3": ComputeExclusive, "EXCLUSIVE_PROCESS": ComputeExclusive,
}

// Settings of a machine's cards. They are kept in its /run, so a reboot brings the defaults back, as a driver's reload does.
type Settings struct {
	file  string
	mutex sync.Mutex
}

// SettingsOf a machine. Persistence is on from the start: Talos' extension runs nvidia-persistenced.
func SettingsOf(rootFS string) *Settings {
	return &Settings{file: filepath.Join(rootFS, "run/nvidia-settings.json")}
}

func (s *Settings) all() map[string]Setting {
	settings := map[string]Setting{}
	if text, err := os.ReadFile(s.file); err == nil {
		_ = json.Unmarshal(text, &settings)
	}
	return settings
}

func (s *Settings) of(card gpu.Card) Setting {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if setting, found := s.all()[card.UUID]; found {
		return setting
	}
	return Setting{PowerLimit: card.DefaultPowerW, Persistence: true}
}

// ComputeMode of a card.
func (s *Settings) ComputeMode(card gpu.Card) string {
	if mode := s.of(card).ComputeMode; mode != "" {
		return mode
	}
	return ComputeDefault
}

// SetComputeMode of a card.
func (s *Settings) SetComputeMode(card gpu.Card, mode string) error {
	setting := s.of(card)
	setting.ComputeMode = mode
	return s.set(card, setting)
}

func (s *Settings) set(card gpu.Card, setting Setting) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	settings := s.all()
	settings[card.UUID] = setting
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file, text, 0o644)
}

func setPower(out io.Writer, wanted float64, driver Driver, cards []gpu.Card, settings *Settings) int {
	for _, card := range cards {
		if !driver.Privileged {
			fmt.Fprintf(out, "Unable to set power management limit for GPU %s: Insufficient Permissions\nTerminating early due to previous errors.\n", busID(card))
			return exitNoPermission
		}
		if wanted < card.MinPowerW || wanted > card.MaxPowerW {
			fmt.Fprintf(out, "Provided power limit %.2f W is not a valid power limit which should be between %.2f W and %.2f W for GPU %s\nTerminating early due to previous errors.\n",
				wanted, card.MinPowerW, card.MaxPowerW, busID(card))
			return exitInvalidArgument
		}
		setting := settings.of(card)
		before := setting.PowerLimit
		setting.PowerLimit = wanted
		if err := settings.set(card, setting); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		fmt.Fprintf(out, "Power limit for GPU %s was set to %.2f W from %.2f W.\n", busID(card), wanted, before)
	}
	fmt.Fprintln(out, "All done.")
	return 0
}

func setPersistence(out io.Writer, on bool, driver Driver, cards []gpu.Card, settings *Settings) int {
	for _, card := range cards {
		if !driver.Privileged {
			fmt.Fprintf(out, "Unable to set persistence mode for GPU %s: Insufficient Permissions\nTerminating early due to previous errors.\n", busID(card))
			return exitNoPermission
		}
		setting := settings.of(card)
		setting.Persistence = on
		if err := settings.set(card, setting); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		fmt.Fprintf(out, "%s persistence mode for GPU %s.\n", enabled(on), busID(card))
	}
	fmt.Fprintln(out, "All done.")
	return 0
}

func setCompute(out io.Writer, mode string, driver Driver, cards []gpu.Card, settings *Settings) int {
	for _, card := range cards {
		if !driver.Privileged {
			fmt.Fprintf(out, "Unable to set the compute mode for GPU %s: Insufficient Permissions\nTerminating early due to previous errors.\n", busID(card))
			return exitNoPermission
		}
		setting := settings.of(card)
		setting.ComputeMode = mode
		if err := settings.set(card, setting); err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		fmt.Fprintf(out, "Set compute mode to %s for GPU %s.\n", strings.ToUpper(mode), busID(card))
	}
	fmt.Fprintln(out, "All done.")
	return 0
}
