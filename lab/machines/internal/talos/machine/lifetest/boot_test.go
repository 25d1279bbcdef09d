package lifetest_test

import (
	"testing"

	api "github.com/siderolabs/talos/pkg/machinery/api/machine"

	"talos-gpu/lab/machines/internal/talos/machine"
)

// A module that nobody declares: the persistence daemon waits for it, the boot never ends, and a machine that was
// upgraded goes back to what it ran before.
func TestUndeclaredModulesUndoTheUpgrade(t *testing.T) {
	l := start(t, "v1.12.6", false, configuration())
	l.until(t, "running", up)

	image := installer(l.gpu, "v1.12.6")
	if _, err := l.UpgradeAndReboot(t.Context(), image); err != nil {
		t.Fatal(err)
	}

	l.until(t, "the new image, booting", func(r machine.Report) bool { return r.SchematicID == l.gpu && r.Stage == "booting" })
	report := l.until(t, "the old image again", func(r machine.Report) bool { return r.SchematicID == l.plain && up(r) })

	if report.Reboots != 2 || report.Upgrades != 1 || !l.said("reverting failed upgrade") {
		t.Fatalf("%+v", report)
	}
}

func TestModulesAppliedLiveEndTheWait(t *testing.T) {
	l := start(t, "v1.12.6", true, configuration())
	l.until(t, "kubelet runs while the boot waits", func(r machine.Report) bool { return r.Stage == "booting" && l.Snapshot().KubeletRunning })

	answer, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules), Mode: api.ApplyConfigurationRequest_AUTO})
	if err != nil || answer.Mode != api.ApplyConfigurationRequest_NO_REBOOT {
		t.Fatalf("%v %v", answer, err)
	}

	if report := l.until(t, "running", up); report.Reboots != 0 || *report.DriverVersion != "570.211.01" {
		t.Fatalf("%+v", report)
	}
}
