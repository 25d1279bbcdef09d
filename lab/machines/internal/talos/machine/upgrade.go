package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/factory"
)

// goDown takes the machine down. It returns an actor ID, which no caller uses to follow events.
func (m *Machine) goDown(why *shutdown) (actor string, err error) {
	var end context.CancelFunc
	m.update(func(s *state) {
		if s.next == nil && s.boot.api != nil {
			s.next, end = why, s.boot.end
		}
	})
	if end == nil {
		return "", status.Error(codes.FailedPrecondition, "reboot or upgrade is already in progress")
	}
	end()
	return uuid.NewString(), nil
}

// Reboot reboots the machine. It does not check etcd's quorum, which is the caller's responsibility (talos v1.13.0
// v1alpha1_server.go, Reboot).
func (m *Machine) Reboot(force bool) (actor string, err error) {
	m.Event("reboot via API received")
	return m.goDown(&shutdown{skipStop: force})
}

// fetch gets an image from its registry. Only installer images have known contents, and every other image can be
// fetched.
func (m *Machine) fetch(ctx context.Context, reference string) (image factory.Image, err error) {
	if look(m, func(s *state) bool { return s.take("pull-error") }) {
		return image, fmt.Errorf("failed to pull image %q: failed to do request: connection reset by peer", reference)
	}
	if installer, err := factory.ParseInstaller(reference); err == nil {
		if image, err = m.env.Factory.Resolve(ctx, installer); err != nil {
			return image, fmt.Errorf("failed to pull image %q: failed to resolve reference %q: unexpected status: %w", reference, reference, err)
		}
	}
	if err := m.env.Clock.Sleep(ctx, pullTime); err != nil {
		return image, err
	}
	m.Event("pulled image %s", reference)
	return image, nil
}

// Pull pulls an image to the disk.
func (m *Machine) Pull(ctx context.Context, reference string) error {
	if look(m, func(s *state) bool { _, ok := s.images[reference]; return ok }) {
		return nil
	}
	image, err := m.fetch(ctx, reference)
	if err == nil {
		m.update(func(s *state) { s.images[reference] = image })
	}
	return err
}

// PullPatiently pulls like the API. It reports at once that the registry does not know an image. After any other error,
// Talos tries again for 20 minutes and writes the error only to its console (seen on Talos v1.12.6 and v1.13.0; talos
// v1.13.0 internal/app/images/images.go and internal/pkg/containers/image/image.go).
func (m *Machine) PullPatiently(ctx context.Context, reference string) error {
	for left := pullTimeout; ; left -= pullAgainTime {
		err := m.Pull(ctx, reference)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, factory.ErrNotFound):
			return status.Errorf(codes.NotFound, "error pulling image: %s", err)
		case left <= 0 || ctx.Err() != nil:
			return err
		}
		m.Event("retrying error: %v", err)
		if err := m.env.Clock.Sleep(ctx, pullAgainTime); err != nil {
			return err
		}
	}
}

func (m *Machine) pulled(reference string) (factory.Image, error) {
	if _, err := factory.ParseInstaller(reference); err != nil {
		return factory.Image{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	image, there := m.s.images[reference]
	if !there {
		return image, fmt.Errorf("image %q: not found", reference)
	}
	return image, nil
}

// UpgradeAndReboot is the old upgrade API: it pulls and validates the image, then installs and reboots in the
// background. It always pulls the image again, into the memory of another containerd (seen on Talos v1.12.6; talos
// v1.12.6 v1alpha1_server.go, Upgrade, and internal/pkg/install/pull.go).
func (m *Machine) UpgradeAndReboot(ctx context.Context, reference string) (actor string, err error) {
	if err := m.busy(); err != nil {
		return "", err
	}
	m.Event("upgrade request received: %s", reference)
	image, err := m.fetch(ctx, reference)
	if err == nil {
		_, err = factory.ParseInstaller(reference)
	}
	if err != nil {
		return "", fmt.Errorf("error validating installer image %q: %w", reference, err)
	}
	return m.goDown(&shutdown{upgrade: &image})
}

// Install is the new upgrade API: it installs a pulled image and does not reboot. It returns the installer's exit code
// (talos v1.13.0 internal/app/lifecycle/lifecycle.go).
func (m *Machine) Install(ctx context.Context, reference string, progress func(string)) (code int32, err error) {
	if look(m, func(s *state) *shutdown { return s.next }) != nil || !m.installing.TryLock() {
		return 0, status.Error(codes.FailedPrecondition, "another installation/upgrade is already in progress")
	}
	defer m.installing.Unlock()
	image, err := m.pulled(reference)
	if err != nil {
		return 0, status.Errorf(codes.Internal, "upgrade failed: %v", err)
	}
	begins, ends := logOf(m.running().Version, reference)
	m.imageEvent(begins)
	progress("installing Talos " + image.Version)
	// The installation continues after its caller has gone (seen on Talos v1.13.0: it installs to the end, and does not
	// reboot).
	m.install(context.WithoutCancel(ctx), image)
	m.imageEvent(ends)
	return 0, nil
}

// logOf returns the lines that Talos logs at the start and the end of an installation (seen on Talos v1.13.0 and
// v1.14.1; talos v1.13.0 and v1.14.1 internal/app/lifecycle/lifecycle.go).
func logOf(version, reference string) (begins, ends string) {
	if host.Minor(version) >= 14 {
		return fmt.Sprintf(`starting upgrade {"service": "lifecycle", "installer_image": %q, "disk": "/dev/sda"}`, reference), `upgrade completed {"service": "lifecycle", "exit_code": 0}`
	}
	return fmt.Sprintf("starting upgrade: installer_image=%s, disk=/dev/sda", reference), "upgrade completed successfully: exit_code=0"
}

// install runs the installer, which writes the other slot. The real installer rejects an upgrade over too many minors.
// That is not emulated, because the program rejects it earlier.
func (m *Machine) install(ctx context.Context, image factory.Image) {
	if m.env.Clock.Sleep(ctx, installTime) != nil {
		return // the lab ends
	}
	m.Event("installed Talos %s, schematic %s", image.Version, image.SchematicID)
	m.update(func(s *state) { s.slots.Install(image, host.Minor(image.Version) >= 14); s.upgrades++ })
}

// Faults are the faults that a machine can have.
var Faults = []string{
	"rollback",        // the boot of the next upgraded slot fails: the machine comes up with the old image
	"refuse",          // API calls are refused: unavailable
	"drop-connection", // API calls are carried out, and the connection is lost before the answer
	"hang",            // API calls are never answered
	"pull-error",      // image pulls fail
	// The machine loses power, and gets it back when this fault is set to 0 times. Power cuts of Talos itself are in
	// lab/docs/conformance.md.
	"off",
}

// Fault gives the machine a fault for a number of times.
func (m *Machine) Fault(kind string, times int) error {
	if !slices.Contains(Faults, kind) {
		return fmt.Errorf("kind: %q is no fault; take one of %v", kind, Faults)
	}
	m.Event("fault %s, %d times", kind, times)
	m.update(func(s *state) {
		s.faults[kind] = times
		if kind == "off" && times > 0 {
			s.next = &shutdown{skipStop: true}
			s.boot.end()
		}
	})
	return nil
}

// take uses a fault once, and reports whether the machine had it.
func (s *state) take(kind string) bool {
	if s.faults[kind] <= 0 {
		return false
	}
	s.faults[kind]--
	return true
}

// Called counts an API call and applies the faults of the connection. lost says that the answer must be lost.
func (m *Machine) Called(ctx context.Context) (lost bool, err error) {
	m.mu.Lock()
	m.s.requests++
	refuse, hang, drop := m.s.take("refuse"), m.s.take("hang"), m.s.take("drop-connection")
	m.mu.Unlock()
	switch {
	case refuse:
		return false, status.Errorf(codes.Unavailable, "dial tcp %s:50000: connect: connection refused", m.spec.Address)
	case hang:
		<-ctx.Done()
		return false, ctx.Err()
	}
	return drop, nil
}
