package cri

import "testing"

func TestRewrite(t *testing.T) {
	paths := NewPaths(map[string]string{"/run/nvidia": "/lab/m/run/nvidia", "/markers": "/lab/pod/markers", "/host": "/lab/m", "/var/lib/ollama": "/lab/vol"}, "/lab/m", "/lab/c", false)
	for script, want := range map[string]string{
		"mkdir -p /run/nvidia/validations":      "mkdir -p /lab/m/run/nvidia/validations",
		`cp "/markers/$m" /tmp/x >/dev/null`:    `cp "/lab/pod/markers/$m" /lab/c/tmp/x >/dev/null`,
		"dir=/run/nvidia; ls $dir/run/nvidia":   "dir=/lab/m/run/nvidia; ls $dir/run/nvidia",
		"http://host/run/nvidia":                "http://host/run/nvidia",
		"/run/nvidia-other":                     "/lab/c/run/nvidia-other",
		"cat /host/proc/driver/nvidia/version":  "cat /lab/m/proc/driver/nvidia/version",
		"[ -r /proc/driver/nvidia/version ]":    "[ -r /lab/m/proc/driver/nvidia/version ]",
		"test -e /dev/nvidia0":                  "test -e /lab/c/dev/nvidia0",
		"/var/lib/ollama/models /var/lib/other": "/lab/vol/models /lab/c/var/lib/other",
		"/bin/sh /usr/bin/env":                  "/bin/sh /usr/bin/env",
	} {
		if got := paths.Rewrite(script); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	if got := paths.Restore("wrote /lab/m/run/nvidia/validations and /lab/c/tmp/x"); got != "wrote /run/nvidia/validations and /tmp/x" {
		t.Errorf("restored: %s", got)
	}
}

func TestDeviceNodesOnlyWithDevices(t *testing.T) {
	with := NewPaths(nil, "/lab/m", "/lab/c", true)
	if got := with.Resolve("/dev/nvidia-uvm"); got != "/lab/m/dev/nvidia-uvm" {
		t.Error(got)
	}
}
