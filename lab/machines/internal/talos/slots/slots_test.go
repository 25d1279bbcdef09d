package slots_test

import (
	"testing"

	"talos-gpu/lab/machines/internal/talos/slots"
)

func TestAnUpgradeCountsAfterItsBoot(t *testing.T) {
	pair := slots.New("old")
	if pair.Install("new", false); pair.Running != "old" || pair.Unconfirmed {
		t.Fatalf("runs %s before the reboot", pair.Running)
	}
	if got := pair.Boot(); got != "new" || !pair.Unconfirmed {
		t.Fatalf("booted %s", got)
	}
	if pair.Confirm(); pair.Revert() || pair.Boot() != "new" {
		t.Fatal("a confirmed upgrade was reverted")
	}
}

func TestAFailedBootGoesBack(t *testing.T) {
	// Up to Talos 1.13, a second installation removes the running image.
	for keepsRunning, want := range map[bool]string{false: "b", true: "a"} {
		pair := slots.New("a")
		pair.Install("b", keepsRunning)
		pair.Install("c", keepsRunning)
		if pair.Boot() != "c" || !pair.Revert() || pair.Boot() != want || pair.Revert() {
			t.Fatalf("keepsRunning %v: runs %s", keepsRunning, pair.Running)
		}
	}
}
