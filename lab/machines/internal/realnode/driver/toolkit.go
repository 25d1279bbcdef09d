//go:build linux

package driver

import (
	"fmt"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/realnode/boot"
)

// toolkit is a release of NVIDIA's container toolkit that is built, with its folder of programs (lab/tools/catalogue.yaml).
type toolkit struct{ release, folder string }

// toolkits that are built, oldest first.
var toolkits = []toolkit{{"1.18.2", "nvidia-toolkit-v1.18"}, {"1.19.1", "nvidia-toolkit-v1.19"}}

// toolkitFor is the newest toolkit of no newer minor than an image's, or the oldest; for an image that does not tell, the newest.
func toolkitFor(release string) toolkit {
	nearest := toolkits[len(toolkits)-1]
	minor, told := minorOf(release)
	if !told {
		return nearest
	}
	nearest = toolkits[0]
	for _, candidate := range toolkits {
		if other, _ := minorOf(candidate.release); other <= minor {
			nearest = candidate
		}
	}
	return nearest
}

// minorOf is the minor of a release of the toolkit, all of which are 1.
func minorOf(release string) (minor int, told bool) {
	_, err := fmt.Sscanf(release, "1.%d.", &minor)
	return minor, err == nil
}

// InStead is the release that the node runs where its image has another toolkit, else "".
func InStead(spec *boot.Spec) string {
	if runs := toolkitFor(spec.Toolkit()).release; spec.HasToolkit() && spec.Era != host.EraNRI && runs != spec.Toolkit() {
		return runs
	}
	return ""
}
