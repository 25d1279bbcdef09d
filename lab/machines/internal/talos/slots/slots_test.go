package slots_test

import (
	"testing"

	"talos-gpu/lab/machines/internal/talos/slots"
)

func TestAnUpgradeCountsAfterItsBoot(t *testing.T) {
	pair := slots.New("old")
	pair.Install("new")

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
	pair.Install("new")
	pair.Boot()

	if !pair.Revert() || pair.Boot() != "old" {
		t.Fatalf("runs %s after the revert", pair.Running())
	}

	if pair.Revert() {
		t.Fatal("reverted twice")
	}
}

func TestAnInstallThatWasNeverBootedKeepsItsFallback(t *testing.T) {
	pair := slots.New("a")
	pair.Install("b")
	pair.Install("c")

	if pair.Boot() != "c" || !pair.Revert() || pair.Boot() != "a" {
		t.Fatal("the fallback is not the image that ran")
	}
}
