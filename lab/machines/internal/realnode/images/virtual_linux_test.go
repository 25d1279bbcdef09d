package images

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestImagesOfAVirtualMachine(t *testing.T) {
	images := virtual{service: "/lab/service", controlPlane: "/lab/controlplane"}
	for _, test := range []struct {
		reference, runs string
		file, is        string
		user            string
	}{
		{reference: "registry.k8s.io/pause:3.10", runs: "/usr/bin/sleep"},
		{reference: "registry.k8s.io/kube-apiserver:v1.36.0", file: "/usr/local/bin/controlplane", is: "/lab/controlplane"},
		{reference: "lab.talos-gpu.dev/lab-network:1", runs: "lab-network"},
		{reference: "nvcr.io/nvidia/gpu-operator:v26.3.3", runs: "gpu-operator"},
		{reference: "registry.k8s.io/nfd/node-feature-discovery:v0.18.3", runs: "nfd-worker", user: "65534:65534"},
		{reference: "registry.k8s.io/lws/lws:v0.9.0"}, // its chart sets the command
		{reference: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04", runs: "bash"},
	} {
		made, known := images.standsFor(test.reference)
		if !known || made.user != test.user || test.runs != "" && slices.Concat(made.entrypoint, made.command, []string{""})[0] != test.runs {
			t.Errorf("%s: %v, %+v", test.reference, known, made)
		}
		files, err := made.files(nil)
		if err != nil || files[test.file] != test.is || slices.Contains(made.links, test.file) {
			t.Errorf("%s: file %s is %q (%v)", test.reference, test.file, files[test.file], err)
		}
		if test.runs != "" && test.runs != "bash" && filepath.Base(test.runs) == test.runs && !slices.Contains(made.links, "/usr/bin/"+test.runs) {
			t.Errorf("%s: no link named %s: %v", test.reference, test.runs, made.links)
		}
	}
	if _, known := images.standsFor("example.org/unknown:1"); known {
		t.Error("an unknown image exists")
	}
	registry := newRegistry(t.TempDir(), nvidias(), images.standsFor)
	for reference, program := range map[string]string{"nvidia/k8s-device-plugin": "nvidia-device-plugin", "nvidia/dra-driver-nvidia-gpu": "gpu-kubelet-plugin"} {
		if made, _ := registry.imageOf("nvcr.io", reference, "v0.19.3"); !slices.Contains(made.programs, program) {
			t.Errorf("%s: not NVIDIA's real %s, but %+v", reference, program, made)
		}
	}
}

func TestImagesWithTheSameFilesDifferByReference(t *testing.T) {
	shared := image{key: "shared", more: map[string]string{"/usr/bin/true": "/usr/bin/true"}, command: []string{"true"}}
	registry := newRegistry(t.TempDir(), nil, func(string) (image, bool) { return shared, true })
	digests := map[string]string{}
	for _, reference := range [][2]string{{"kube-apiserver", "v1.34.1"}, {"kube-apiserver", "v1.35.2"}, {"kube-scheduler", "v1.35.2"}} {
		digest, err := registry.manifest("registry.k8s.io", reference[0], reference[1])
		if other, exists := digests[digest]; err != nil || exists {
			t.Errorf("%v has the digest %s of %q (%v)", reference, digest, other, err)
		}
		digests[digest] = reference[0] + ":" + reference[1]
	}
}
