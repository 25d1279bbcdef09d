package gpu

import (
	"fmt"
	"regexp"
	"strings"
)

var geForce = regexp.MustCompile(`^(RTX [2-5]0\d0|GTX )`)

// ProductName is the name the driver reports, e.g. NVIDIA GeForce RTX 5070 Ti, NVIDIA H100 NVL.
func (c Card) ProductName() string {
	switch {
	case strings.HasPrefix(c.Model, "NVIDIA "):
		return c.Model
	case geForce.MatchString(c.Model):
		return "NVIDIA GeForce " + c.Model
	}
	return "NVIDIA " + c.Model
}

// Brand of a card, as go-nvlib calls what the driver says (v0.12.0 pkg/nvlib/device/device.go, GetBrandAsString).
func (c Card) Brand() string {
	switch name := c.ProductName(); {
	case strings.Contains(name, "GeForce"):
		return "GeForce"
	case strings.HasPrefix(name, "NVIDIA RTX"):
		return "NvidiaRTX"
	}
	return "Nvidia"
}

// BusID is where the lab has the card on the PCI bus.
func (c Card) BusID() string { return fmt.Sprintf("0000:%02x:00.0", 0x40+c.Index) }

// newestCUDA a driver branch runs, as nvidia-smi shows it.
var newestCUDA = map[string]string{
	"470": "11.4", "525": "12.0", "535": "12.2", "550": "12.4", "560": "12.6", "565": "12.7", "570": "12.8", "575": "12.9",
	"580": "13.0", "590": "13.1", "595": "13.2", "610": "13.3",
}

// CUDAVersion of a driver, e.g. 12.8; "" when the branch is unknown.
func CUDAVersion(driver string) string {
	branch, _, _ := strings.Cut(driver, ".")
	return newestCUDA[branch]
}
