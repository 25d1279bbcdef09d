package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/talos/configuration"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/release"
)

// goDown takes the machine down; the answer is the actor whose events talosctl follows.
func (m *Machine) goDown(why *shutdown) (string, error) {
	why.actor = uuid.NewString()

	var end context.CancelFunc

	m.update(func(s *state) {
		if s.next == nil && s.boot.api != nil {
			s.next = why
			end = s.boot.end
		}
	})

	if end == nil {
		return "", status.Error(codes.FailedPrecondition, "reboot or upgrade is already in progress")
	}

	end()

	return why.actor, nil
}

// Reboot the machine. There is no check of etcd's quorum: that is the caller's business (talos v1.13.0
// v1alpha1_server.go, Reboot).
func (m *Machine) Reboot(force bool) (string, error) {
	m.Event("reboot via API received")

	return m.goDown(&shutdown{skipStop: force})
}

// Pull an image into containerd. Only installer images are known by what is in them; any other is just there afterwards.
func (m *Machine) Pull(ctx context.Context, reference string) error {
	if look(m, func(s *state) bool { _, ok := s.images[reference]; return ok }) {
		return nil
	}

	if look(m, func(s *state) bool { return s.take("pull-error") }) {
		return fmt.Errorf("failed to pull image %q: failed to do request: connection reset by peer", reference)
	}

	image := factory.Image{}

	if installer, err := factory.ParseInstaller(reference); err == nil {
		if image, err = m.env.Factory.Resolve(ctx, installer); err != nil {
			return fmt.Errorf("failed to pull image %q: failed to resolve reference %q: unexpected status: %w", reference, reference, err)
		}
	}

	if err := m.env.Clock.Sleep(ctx, pullTime); err != nil {
		return err
	}

	m.Event("pulled image %s", reference)
	m.update(func(s *state) { s.images[reference] = image })

	return nil
}

// PullPatiently pulls as ImageService does: what the registry does not know is told at once. After any other error Talos tries again for 20
// minutes, and says why in its console alone (seen on Talos v1.13.0; talos v1.13.0 internal/app/images/images.go and
// internal/pkg/containers/image/image.go).
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

// Images that were pulled, sorted by reference.
func (m *Machine) Images() []string {
	return look(m, func(s *state) []string { return slices.Sorted(maps.Keys(s.images)) })
}

func (m *Machine) pulled(reference string) (factory.Image, error) {
	if _, err := factory.ParseInstaller(reference); err != nil {
		return factory.Image{}, err
	}

	image := look(m, func(s *state) *factory.Image {
		if image, ok := s.images[reference]; ok {
			return &image
		}

		return nil
	})
	if image == nil {
		return factory.Image{}, fmt.Errorf("image %q: not found", reference)
	}

	return *image, nil
}

// UpgradeAndReboot is the old upgrade API: pull and validate the image, check etcd, then install and reboot in the
// background (talos v1.13.0 v1alpha1_server.go, Upgrade).
func (m *Machine) UpgradeAndReboot(ctx context.Context, reference string, force bool) (string, error) {
	if err := m.busy(); err != nil {
		return "", err
	}

	m.Event("upgrade request received: %s", reference)

	if _, err := factory.ParseInstaller(reference); err != nil {
		return "", fmt.Errorf("error validating installer image %q: %w", reference, err)
	}

	if err := m.Pull(ctx, reference); err != nil {
		return "", fmt.Errorf("error validating installer image %q: %w", reference, err)
	}

	if err := m.etcdAllowsUpgrade(); err != nil && !force {
		return "", fmt.Errorf("error validating etcd for upgrade: %w", err)
	}

	image, err := m.pulled(reference)
	if err != nil {
		return "", err
	}

	return m.goDown(&shutdown{upgrade: &image})
}

// etcdAllowsUpgrade refuses a cluster of two members (talos v1.13.0 internal/pkg/etcd/etcd.go, ValidateForUpgrade). The
// health of the other members is not looked at here.
func (m *Machine) etcdAllowsUpgrade() error {
	if m.spec.Role != "controlplane" {
		return nil
	}

	members := 0

	for _, other := range m.env.Cluster {
		if other.Role == "controlplane" {
			members++
		}
	}

	if members == 2 {
		return errors.New("etcd member count(2) is insufficient to maintain quorum if upgrade commences")
	}

	return nil
}

// Install is the new upgrade API: it installs an image that was pulled before, and does not reboot. The number is the
// installer's exit code (talos v1.13.0 internal/app/lifecycle/lifecycle.go).
func (m *Machine) Install(ctx context.Context, reference string, progress func(string)) (int32, error) {
	if look(m, func(s *state) *shutdown { return s.next }) != nil || !m.installing.TryLock() {
		return 0, status.Error(codes.FailedPrecondition, "another installation/upgrade is already in progress")
	}
	defer m.installing.Unlock()

	if reference == "" {
		return 0, status.Error(codes.InvalidArgument, "installer image name is required")
	}

	image, err := m.pulled(reference)
	if err != nil {
		return 0, status.Errorf(codes.Internal, "upgrade failed: %v", err)
	}

	version := look(m, func(s *state) string { return s.slots.Running().Version })
	m.Event("%s", startsUpgrade(version, reference))

	code := int32(0)

	// A caller who is gone stops no installation (seen on Talos v1.13.0: it installs to the end, and does not reboot).
	if err := m.install(context.WithoutCancel(ctx), image, progress); err != nil {
		m.Event("installer: %v", err)
		progress(err.Error())

		code = 1
	}

	m.Event("%s", endsUpgrade(version, code))

	return code, nil
}

// startsUpgrade and endsUpgrade are what the console has of an installation (seen on Talos v1.13.0; talos v1.13.0 and v1.14.0
// internal/app/lifecycle/lifecycle.go).
func startsUpgrade(version, reference string) string {
	if release.Minor(version) >= 14 {
		return fmt.Sprintf(`starting upgrade {"service": "lifecycle", "installer_image": %q, "disk": "/dev/sda"}`, reference)
	}

	return fmt.Sprintf("starting upgrade: installer_image=%s, disk=/dev/sda", reference)
}

func endsUpgrade(version string, code int32) string {
	said := map[bool]string{true: "upgrade completed successfully", false: "upgrade failed"}[code == 0]
	if release.Minor(version) >= 14 {
		return fmt.Sprintf(`%s {"service": "lifecycle", "exit_code": %d}`, strings.TrimSuffix(said, " successfully"), code)
	}

	return fmt.Sprintf("%s: exit_code=%d", said, code)
}

// install runs the installer: pre-flight checks, then the other slot.
func (m *Machine) install(ctx context.Context, image factory.Image, progress func(string)) error {
	running := look(m, func(s *state) string { return s.slots.Running().Version })

	progress("running pre-flight checks")
	progress("host Talos version: " + running)

	if err := upgradeable(running, image.Version); err != nil {
		return fmt.Errorf("pre-flight checks failed: %w", err)
	}

	progress("all pre-flight checks successful")

	if look(m, func(s *state) bool { return s.take("install-error") }) {
		return errors.New("failed to install boot loader: no space left on device")
	}

	if err := m.env.Clock.Sleep(ctx, installTime); err != nil {
		return err
	}

	m.Event("installed Talos %s, schematic %s", image.Version, image.SchematicID)
	progress(fmt.Sprintf("installed Talos %s", image.Version))
	m.update(func(s *state) { s.slots.Install(image, release.Minor(image.Version) >= 14); s.upgrades++ })

	return nil
}

// upgradeable is the installer's own check of the path (talos v1.13.0 cmd/installer/pkg/install/preflight.go, with
// machinery's tables): each release takes hosts from two minors before it on. The documentation's advice of one minor at
// a time is not enforced. Releases after 1.13 are held to the same rule.
func upgradeable(running, wanted string) error {
	if release.Minor(wanted) > configuration.NewestKnown {
		if release.Minor(running)+2 < release.Minor(wanted) {
			return fmt.Errorf("host version %s is too old to upgrade to Talos %s", release.Parse(running), release.Parse(wanted))
		}

		return nil
	}

	from, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: running})
	if err != nil {
		return err
	}

	to, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: wanted})
	if err != nil {
		return err
	}

	return to.UpgradeableFrom(from)
}
