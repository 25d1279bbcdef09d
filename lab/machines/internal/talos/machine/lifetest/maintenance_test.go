package lifetest_test

import (
	"bytes"
	"testing"

	api "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/talos/apid"
	"talos-gpu/lab/machines/internal/talos/machine"
)

// A machine that joins a cluster which is there already: the cluster's client is not let in before it has a
// configuration, and its first one installs the image that it names, with one reboot.
func TestAMachineJoinsFromMaintenanceMode(t *testing.T) {
	l := start(t, "v1.12.6", false, nil)
	l.until(t, "maintenance mode", func(r machine.Report) bool { return r.Stage == "maintenance" })

	call := func() error {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("node", "10.0.0.2"))

		_, backends, err := apid.NewRouter([]*machine.Machine{l.Machine}).Direct(ctx, "/machine.MachineService/Version")
		if err != nil {
			return err
		}

		_, _, err = backends[0].GetConnection(ctx, "/machine.MachineService/Version")

		return err
	}

	if err := call(); status.Code(err) != codes.Unavailable {
		t.Fatalf("in maintenance mode: %v", err)
	}

	first := configuration(modules, "  files:\n"+part)
	image := installer(l.gpu, "v1.12.6")
	first = bytes.Replace(first, []byte("disk: /dev/sda"), []byte(`disk: /dev/sda, image: "`+image+`"`), 1)

	if _, err := l.Apply(&api.ApplyConfigurationRequest{Data: first, Mode: api.ApplyConfigurationRequest_AUTO}); err != nil {
		t.Fatal(err)
	}

	report := l.until(t, "running", up)
	if report.Reboots != 1 || report.SchematicID != l.gpu || *report.DriverVersion != "570.211.01" {
		t.Fatalf("%+v", report)
	}

	if err := call(); err != nil {
		t.Fatalf("installed: %v", err)
	}
}
