package containerd_test

import (
	"encoding/json"
	"os"
	"testing"

	"talos-gpu/lab/machines/internal/talos/containerd"
)

// A new minor may have another part of Talos.
func TestTheBasePartWasReadAtTheNewestMinor(t *testing.T) {
	text, err := os.ReadFile("../../../../../components/recipe/facts/data/talos-releases.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Minors []struct{ Minor int } }
	if err := json.Unmarshal(text, &table); err != nil || len(table.Minors) == 0 {
		t.Fatal(err)
	}
	if newest := table.Minors[len(table.Minors)-1].Minor; newest != containerd.PartReadTo {
		t.Errorf("the tables have Talos 1.%d; compare BasePart with its hack/cri-plugin.part, then set PartReadTo", newest)
	}
}
