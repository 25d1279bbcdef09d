package lifetest_test

import (
	"context"
	"strings"
	"testing"

	api "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/talos/machine"
)

// Seen on Talos v1.13.0: a caller who is gone stops no installation, and no reboot follows; a paused boot that gives way takes the upgrade back.
func TestAnUpgradeWhoseCallerIsGoneAndWhoseBootIsPaused(t *testing.T) {
	l := start(t, "v1.13.0", false, configuration(modules, "  files:\n"+part))
	l.until(t, "running", up)

	image := installer(l.gpu, "v1.13.0")
	if err := l.Pull(t.Context(), image); err != nil {
		t.Fatal(err)
	}

	gone, leave := context.WithCancel(t.Context())
	leave()

	if code, err := l.Install(gone, image, func(string) {}); code != 0 || err != nil {
		t.Fatalf("%d %v", code, err)
	}

	if report := l.Report(); !up(report) || report.Reboots != 0 || !l.said("starting upgrade: installer_image="+image) || !l.said("upgrade completed successfully: exit_code=0") {
		t.Fatalf("%+v\n%s", report, l.history())
	}

	// The next boot pauses; the one after it runs what ran before.
	if _, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules, duplicate), Mode: api.ApplyConfigurationRequest_STAGED}); err != nil {
		t.Fatal(err)
	}

	if _, err := l.Reboot(false); err != nil {
		t.Fatal(err)
	}

	l.until(t, "the new image, paused", func(r machine.Report) bool { return r.SchematicID == l.gpu && l.said("rebooting in 35 minutes") })

	if _, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules), Mode: api.ApplyConfigurationRequest_AUTO}); err != nil {
		t.Fatal(err)
	}

	if report := l.until(t, "running", up); report.SchematicID != l.plain || !l.said("reverting failed upgrade") {
		t.Fatalf("%+v", report)
	}
}

func TestImagesThatTheFactoryDoesNotMake(t *testing.T) {
	l := start(t, "v1.11.5", false, configuration())
	l.until(t, "running", up)

	for image, problem := range map[string]string{
		installer(strings.Repeat("0", 64), "v1.12.6"): "404 Not Found: schematic not found",
		installer(l.gpu, "v1.12.0"):                   `official extension "siderolabs/nvidia-container-toolkit-production" is not available for Talos version v1.12.0`,
		"docker.io/library/busybox:v1":                "no Talos version",
	} {
		_, err := l.UpgradeAndReboot(t.Context(), image)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", image, err)
		}
	}

	if report := l.Report(); report.Reboots != 0 || !up(report) {
		t.Fatalf("%+v", report)
	}
}

func TestABusyMachineRefuses(t *testing.T) {
	l := start(t, "v1.12.6", false, configuration())
	l.until(t, "running", up)

	if _, err := l.UpgradeAndReboot(t.Context(), installer(l.plain, "v1.12.7")); err != nil {
		t.Fatal(err)
	}

	_, upgrade := l.UpgradeAndReboot(t.Context(), installer(l.plain, "v1.12.7"))
	_, apply := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(), Mode: api.ApplyConfigurationRequest_STAGED})

	for _, err := range []error{upgrade, apply} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Fatalf("%v", err)
		}
	}
}

// Seen on Talos v1.13.0: an image that is not there is told at once, anything else only by the console, since Talos tries again.
func TestAPullThatFails(t *testing.T) {
	l := start(t, "v1.13.0", false, configuration())
	l.until(t, "running", up)

	if err := l.PullPatiently(t.Context(), installer(strings.Repeat("0", 64), "v1.13.0")); status.Code(err) != codes.NotFound {
		t.Fatalf("%v", err)
	}

	if err := l.Fault("pull-error", 2); err != nil {
		t.Fatal(err)
	}

	if err := l.PullPatiently(t.Context(), installer(l.plain, "v1.13.0")); err != nil || !l.said("retrying error: failed to pull image") {
		t.Fatalf("%v\n%s", err, l.history())
	}
}
