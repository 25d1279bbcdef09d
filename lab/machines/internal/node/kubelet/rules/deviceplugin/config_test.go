package deviceplugin

import "testing"

func TestPluginConfig(t *testing.T) {
	const slicing = "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources: [{name: nvidia.com/gpu, replicas: 4}]\n"
	for _, test := range []struct {
		name, config string
		env          map[string]string
		suffix       string
		replicas     int
		failure      string
	}{
		{"defaults", "", nil, "", 1, ""},
		{"plural", "", map[string]string{"DEVICE_LIST_STRATEGY": "envvars"}, "", 0, "invalid --device-list-strategy option: invalid strategy: envvars"},
		{"list", "", map[string]string{"DEVICE_LIST_STRATEGY": "cdi-annotations,cdi-cri"}, "", 1, ""},
		{"time slicing", slicing, nil, ".shared", 4, ""},
		{"one replica", "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}", nil, "", 0, "number of replicas must be >= 2"},
		{"MIG", "version: v1\nflags: {migStrategy: mixed}", map[string]string{"MIG_STRATEGY": "single"}, "", 1, ""},
		{"MIG strategy", "version: v1\nflags: {migStrategy: all}", nil, "", 0, "unknown MIG strategy: all"},
		{"version", "version: v2", nil, "", 0, "unable to parse config file: unknown version: v2"},
	} {
		got, err := parsePluginConfig(test.config, test.env)
		if text := errorText(err); text != test.failure {
			t.Errorf("%s: error %q, want %q", test.name, text, test.failure)
		}
		if err == nil && (got.suffix != test.suffix || got.replicas != test.replicas) {
			t.Errorf("%s: %d replicas, suffix %q", test.name, got.replicas, got.suffix)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
