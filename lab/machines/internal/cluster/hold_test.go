package cluster
import ("testing";"os";"time";"talos-gpu/lab/machines/internal/host")
func TestHold(t *testing.T) {
	file := os.Getenv("LAB_HOLD")
	if file == "" { t.Skip() }
	config, _ := controlPlane(t)
	m := newTestMachine(t)
	if os.Getenv("LAB_CDI") != "" { m.snapshot.Era = host.EraCDI; m.snapshot.TalosVersion="v1.13.9"; m.snapshot.DriverVersion="595.91.07"; m.snapshot.LibraryVersion="595.91.07"; m.snapshot.Sysctls=nil }
	start(t, config, m)
	for { if _, err := os.Stat(file); err != nil { return }; time.Sleep(200*time.Millisecond) }
}
