package lifetest_test

import (
	"slices"
	"strings"
	"testing"

	api "github.com/siderolabs/talos/pkg/machinery/api/machine"

	"talos-gpu/lab/machines/internal/talos/machine"
)

func TestABootLoadsTheDriver(t *testing.T) {
	l := start(t, "v1.12.6", true, configuration(modules, `  sysctls: {net.core.bpf_jit_harden: "1"}`, "  nodeLabels: {a: b}"))
	l.until(t, "running", up)

	shot := l.Snapshot()
	if shot.DriverVersion != "570.211.01" || shot.LibraryVersion != "570.211.01" || len(shot.Modules) != 4 {
		t.Fatalf("%+v", shot)
	}

	if shot.Sysctls["net.core.bpf_jit_harden"] != "1" || shot.KubernetesVersion != "v1.34.1" || !slices.Equal(shot.Runtimes, []string{"nvidia", "runc"}) {
		t.Fatalf("%+v", shot)
	}

	if shot.NodeLabels["extensions.talos.dev/nvidia-container-toolkit-production"] != "570.211.01-v1.18.2" || shot.NodeLabels["a"] != "b" ||
		shot.NodeAnnotations["extensions.talos.dev/schematic"] != l.gpu {
		t.Fatalf("%+v %+v", shot.NodeLabels, shot.NodeAnnotations)
	}
}

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

func TestTwoItemsForThePartLoopUntilCorrected(t *testing.T) {
	l := start(t, "v1.12.6", true, configuration(modules, duplicate))

	report := l.until(t, "a second try", func(r machine.Report) bool { return r.Reboots >= 1 && r.Stage == "booting" && !r.Ready })
	if l.Snapshot().KubeletRunning || !l.said("20-customization.part@undefined) already exists") {
		t.Fatalf("%+v\n%s", report, l.history())
	}

	answer, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules), Mode: api.ApplyConfigurationRequest_AUTO})
	if err != nil || answer.Mode != api.ApplyConfigurationRequest_REBOOT {
		t.Fatalf("%v %v", answer, err)
	}

	l.until(t, "running", up)

	if log := strings.Join(l.BootLog(), ""); strings.Contains(log, "already exists") || !strings.Contains(log, "booted Talos") {
		t.Fatalf("the log of this boot: %s", log)
	}
}

func TestAStagedConfigurationTakesEffectAtTheNextBoot(t *testing.T) {
	l := start(t, "v1.12.6", true, configuration(modules))
	before := l.until(t, "running", up)

	staged := configuration(modules, "  files:\n"+part, "  nodeLabels: {staged: yes-it-is}")
	if _, err := l.Apply(&api.ApplyConfigurationRequest{Data: staged, Mode: api.ApplyConfigurationRequest_STAGED}); err != nil {
		t.Fatal(err)
	}

	if l.Snapshot().NodeLabels["staged"] != "" {
		t.Fatal("a staged configuration was applied")
	}

	if _, err := l.Reboot(false); err != nil {
		t.Fatal(err)
	}

	after := l.until(t, "another boot", func(r machine.Report) bool { return up(r) && r.BootID != before.BootID })
	shot := l.Snapshot()

	if shot.NodeLabels["staged"] != "yes-it-is" || shot.CRIParts["20-customization.part"] == "" || after.Reboots != 1 {
		t.Fatalf("%+v", shot)
	}
}
