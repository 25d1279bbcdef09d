package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
)

// The recipe's table says who makes CDI specifications. The emulated machines must agree with it.
func TestErasAreThoseOfTheTable(t *testing.T) {
	text, err := os.ReadFile("../../../../components/recipe/facts/data/talos-releases.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Minors []struct {
			Minor int
			CDI   string
		}
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Minors) == 0 {
		t.Fatal(err)
	}
	for _, row := range table.Minors {
		want := map[string]Injection{"nobody": InjectionLegacy, "extension": InjectionCDI, "operator": InjectionNRI}[row.CDI]
		if got := InjectionOf(fmt.Sprintf("v1.%d.0", row.Minor)); got != want {
			t.Errorf("Talos 1.%d: %s, the table has %q", row.Minor, got, row.CDI)
		}
	}
}

// scripted is a machine that returns one snapshot after the other.
type scripted struct {
	Machine
	snapshots []Snapshot
	next      int
}

func (s *scripted) Watch(context.Context) <-chan struct{} {
	signals := make(chan struct{}, len(s.snapshots))
	for range s.snapshots {
		signals <- struct{}{}
	}
	close(signals)
	return signals
}

func (s *scripted) Snapshot() Snapshot {
	s.next++
	return s.snapshots[s.next-1]
}

func TestEachBootIsStartedOnceAndStopped(t *testing.T) {
	runs := func(boot string, kubelet bool) Snapshot { return Snapshot{BootID: boot, KubeletRunning: kubelet} }
	var said []string
	machine := &scripted{snapshots: []Snapshot{runs("a", false), runs("a", true), runs("a", true), runs("b", true), runs("b", false), runs("b", true)}}
	if err := EachBoot(t.Context(), machine, func(s Snapshot) (changed, stop func(), err error) {
		say := func(what string) func() { return func() { said = append(said, what+" "+s.BootID) } }
		say("start")()
		return say("changed"), say("stop"), nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start a", "changed a", "stop a", "start b", "stop b", "start b", "stop b"}; !slices.Equal(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
}
