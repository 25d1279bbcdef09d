package containerd_test

import (
	"slices"
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/talos/containerd"
)

func merge(t *testing.T, cdi bool, customization string) string {
	t.Helper()

	config, err := containerd.Merge(map[string]string{
		"00-base.part":                     containerd.BasePart(cdi),
		"10-nvidia-container-runtime.part": containerd.NvidiaPart,
		"20-customization.part":            customization,
	})
	if err != nil {
		t.Fatal(err)
	}

	return config
}

func TestTheLastScalarWins(t *testing.T) {
	config := merge(t, false, "[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'nvidia'\n")

	effective, err := containerd.Read(config)
	if err != nil {
		t.Fatal(err)
	}

	if effective.Default != "nvidia" || !slices.Equal(effective.Runtimes, []string{"nvidia", "runc"}) {
		t.Fatalf("%+v", effective)
	}

	// the base part's table is merged into, not replaced
	if !strings.Contains(config, "base-spec.json") {
		t.Fatal("runc lost its base spec")
	}
}

func TestArraysAreConcatenated(t *testing.T) {
	config := merge(t, true, "[plugins.'io.containerd.cri.v1.runtime']\ncdi_spec_dirs = ['/var/cdi/static']\n")

	if !strings.Contains(config, "cdi_spec_dirs = ['/run/cdi', '/var/cdi/static']") {
		t.Fatal(config)
	}
}

func TestAnotherVersionHidesEverything(t *testing.T) {
	effective, err := containerd.Read(merge(t, false, "version = 2\n"))
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(effective.Runtimes, []string{"runc"}) {
		t.Fatalf("%+v", effective)
	}
}

func TestAnotherTypeIsAnError(t *testing.T) {
	_, err := containerd.Merge(map[string]string{
		"00-base.part":          containerd.BasePart(true),
		"20-customization.part": "[plugins]\n'io.containerd.cri.v1.runtime' = 'x'\n",
	})
	if err == nil || !strings.Contains(err.Error(), "20-customization.part") {
		t.Fatalf("%v", err)
	}
}

func TestADefaultRuntimeMustExist(t *testing.T) {
	config, err := containerd.Merge(map[string]string{
		"00-base.part":          containerd.BasePart(false),
		"20-customization.part": "[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'nvidia'\n",
	})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := containerd.Read(config); err == nil {
		t.Fatal("containerd started with a default runtime that is not there")
	}
}
