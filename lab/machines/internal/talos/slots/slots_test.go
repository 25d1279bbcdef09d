package slots_test

import (
	"testing"

	"talos-gpu/lab/machines/internal/talos/slots"
)

func TestAnUpgradeCountsAfterItsBoot(t *testing.T) {
	pair := slots.New("old")
	pair.Install("new", false)

	if pair.Running() != "old" {
		t.Fatalf("runs %s before the reboot", pair.Running())
	}

	if got := pair.Boot(); got != "new" {
		t.Fatalf("booted %s", got)
	}

	pair.Confirm()

	if pair.Revert() || pair.Boot() != "new" {
		t.Fatal("a confirmed upgrade was taken back")
	}
}

func TestAFailedBootGoesBack(t *testing.T) {
	pair := slots.New("old")
	pair.Install("new", false)
	pair.Boot()

	if !pair.Revert() || pair.Boot() != "old" {
		t.Fatalf("runs %s after the revert", pair.Running())
	}

	if pair.Revert() {
		t.Fatal("reverted twice")
	}
}

func TestASecondInstallRemovesTheImageThatRuns(t *testing.T) {
	for keepsRunning, want := range map[bool]string{false: "b", true: "a"} {
		pair := slots.New("a")
		pair.Install("b", keepsRunning)

		if pair.Unconfirmed() {
			t.Fatal("META is shown before the boot")
		}

		pair.Install("c", keepsRunning)

		if pair.Boot() != "c" || !pair.Unconfirmed() || !pair.Revert() || pair.Boot() != want {
			t.Fatalf("keeps the running one: %v: runs %s", keepsRunning, pair.Running())
		}
	}
}
