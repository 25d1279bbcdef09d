/** A part of containerd's configuration that a machine gets in addition to Talos' own. */
interface ContainerdPart {
  /** Release of Talos. Default: v1.12.6. */
  talosVersion?: string;
  part: string;
  /** A part of the finding. Default: there is none. */
  says?: string;
}

const lines = (...text: string[]): string => [...text, ""].join("\n");

/** A part of the table of containerd's CRI plugin for containers. */
const criRuntime = (...more: string[]): string =>
  lines('[plugins."io.containerd.cri.v1.runtime"]', ...more);

/** A part of the table of its runtime `nvidia`. */
const nvidiaRuntime = (...more: string[]): string =>
  lines('[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]', ...more);

/** A part of the table of containerd's CRI plugin for images. */
const criImages = (...more: string[]): string =>
  lines('[plugins."io.containerd.cri.v1.images"]', ...more);

/**
 * Valid and wrong parts. Some keys are valid for one release and wrong for another, since their containerd
 * differs. A release that the tables lack may also have keys that the tables lack.
 */
export const containerdParts: ContainerdPart[] = [
  // Valid parts.
  { part: "" },
  { part: "# a comment" },
  { part: criRuntime('cdi_spec_dirs = ["/var/cdi"]') },
  {
    part: criRuntime(
      "enable_cdi = true",
      "enable_unprivileged_ports = true",
      "enable_unprivileged_icmp = true",
    ),
  },
  { part: criRuntime("device_ownership_from_security_context = true") },
  { part: criRuntime("max_container_log_line_size = -1") },
  {
    part: criRuntime(
      "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
      "default_runtime_name = 'nvidia'",
    ),
  },
  {
    part: criRuntime(
      "[plugins.'io.containerd.cri.v1.runtime'.cni]",
      "setup_serially = true",
      "max_conf_num = 1",
    ),
  },
  {
    part: nvidiaRuntime(
      'runtime_type = "io.containerd.runc.v2"',
      "privileged_without_host_devices = false",
    ),
  },
  {
    part: nvidiaRuntime(
      'runtime_type = "io.containerd.runc.v2"',
      '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]',
      'BinaryName = "/usr/local/bin/nvidia-container-runtime"',
      "SystemdCgroup = false",
    ),
  },
  {
    part: nvidiaRuntime(
      'pod_annotations = ["nvidia.cdi.k8s.io/*"]',
      'container_annotations = ["a"]',
      "cgroup_writable = true",
    ),
  },
  { part: nvidiaRuntime('base_runtime_spec = "/etc/cri/conf.d/base-spec.json"') },
  { part: criImages("discard_unpacked_layers = false", "max_concurrent_downloads = 10") },
  { part: criImages('snapshotter = "stargz"', "disable_snapshot_annotations = false") },
  { part: criImages('image_pull_progress_timeout = "10m0s"', "use_local_image_pull = true") },
  {
    part: criImages(
      "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
      "sandbox = 'registry.k8s.io/pause:3.10'",
    ),
  },
  { part: lines('[plugins."io.containerd.nri.v1.nri"]', "disable = false") },
  { part: lines('[plugins."io.containerd.grpc.v1.cri"]', 'stream_server_port = "0"') },
  { part: lines('[plugins."io.containerd.snapshotter.v1.overlayfs"]', "upperdir_label = true") },
  { part: lines("[proxy_plugins.stargz]", 'type = "snapshot"', 'address = "/run/stargz.sock"') },
  { part: lines("[metrics]", "address = '0.0.0.0:11234'", "grpc_histogram = false") },
  { part: lines("[debug]", "level = 'debug'") },
  { part: "oom_score = -999" },
  { part: criImages("registry = { config_path = '/etc/cri/conf.d/hosts' }") },
  {
    part: 'plugins."io.containerd.cri.v1.runtime" = { enable_cdi = true, containerd = { runtimes = { crun = { runtime_type = "io.containerd.runc.v2" } } } }',
  },
  {
    part: lines(
      "[plugins.'example.v1.mine']",
      "since = 1979-05-27T07:32:00Z",
      "days = [{ on = 1979-05-27 }]",
    ),
  },
  { part: 'disabled_plugins = ["io.containerd.internal.v1.tracing"]' },
  // Wrong keys and values.
  { part: criRuntime('cdi_spec_dirs = "x"'), says: "a list in which each item is text" },
  { part: criRuntime("cdi_spec_dirs = [1]"), says: "cdi_spec_dirs[0] is a number" },
  { part: criRuntime("cdi_spec_dirs = true"), says: "a list in which each item is text" },
  { part: criRuntime('cdi_spec_dir = ["x"]'), says: '"cdi_spec_dirs"' },
  { part: criRuntime('enable_cdi = "true"'), says: "true or false" },
  { part: criRuntime("enable_cdi = 1"), says: "true or false" },
  { part: criRuntime("enable_CDI = true"), says: '"enable_cdi"' },
  { part: criRuntime("enable_unprivileged_port = true"), says: '"enable_unprivileged_ports"' },
  { part: criRuntime('max_container_log_line_size = "16384"'), says: "whole number" },
  { part: criRuntime("max_container_log_line_size = 1.5"), says: "whole number" },
  { part: criRuntime('containerd = "x"'), says: "a table" },
  {
    part: criRuntime(
      "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
      "default_runtime = 'nvidia'",
    ),
    says: "default_runtime_name",
  },
  {
    part: criRuntime(
      "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
      "default_runtime_name = ['nvidia']",
    ),
    says: "write text",
  },
  {
    part: criRuntime(
      "[plugins.'io.containerd.cri.v1.runtime'.containerd]",
      "default_runtime_name = 'nvida'",
    ),
    says: '"nvidia"',
  },
  {
    part: criRuntime("[plugins.'io.containerd.cri.v1.runtime'.containerd]", "runtimes = []"),
    says: "a table",
  },
  {
    part: criRuntime("[plugins.'io.containerd.cri.v1.runtime'.cni]", "max_conf_num = 'one'"),
    says: "whole number",
  },
  { part: nvidiaRuntime('runtime_typ = "io.containerd.runc.v2"'), says: '"runtime_type"' },
  { part: nvidiaRuntime("runtime_type = 2"), says: "write text" },
  { part: nvidiaRuntime('privileged_without_host_devices = "no"'), says: "true or false" },
  { part: nvidiaRuntime('pod_annotations = "a"'), says: "a list in which each item is text" },
  { part: nvidiaRuntime('base_runtime_specs = "a"'), says: '"base_runtime_spec"' },
  { part: nvidiaRuntime('options = "a"'), says: "a table" },
  { part: nvidiaRuntime('io_type = "pipe"'), says: "fifo or streaming" },
  { part: criImages("discard_unpacked_layer = false"), says: '"discard_unpacked_layers"' },
  { part: criImages('discard_unpacked_layers = "false"'), says: "true or false" },
  { part: criImages('max_concurrent_downloads = "3"'), says: "whole number" },
  {
    part: criImages('[plugins."io.containerd.cri.v1.images".registry]', 'config_path = "/etc/x"'),
    says: "machine.registries",
  },
  {
    part: criImages(
      '[plugins."io.containerd.cri.v1.images".registry.mirrors."docker.io"]',
      'endpoint = ["https://a"]',
    ),
    says: "machine.registries",
  },
  {
    part: criImages(
      '[plugins."io.containerd.cri.v1.images".registry.configs."a".auth]',
      'password = "b"',
    ),
    says: "contains a secret",
  },
  {
    part: lines('[plugins."io.containerd.cri.v1.runtme"]', "enable_cdi = true"),
    says: '"io.containerd.cri.v1.runtime"',
  },
  {
    part: lines('[plugins."io.containerd.cri.v1.image"]', 'snapshotter = "a"'),
    says: '"io.containerd.cri.v1.images"',
  },
  {
    part: lines('[plugins."io.containerd.grpc.v1.cri"]', "enable_cdi = true"),
    says: "containerd 1",
  },
  {
    part: lines(
      '[plugins."io.containerd.grpc.v1.cri".containerd]',
      'default_runtime_name = "nvidia"',
    ),
    says: "containerd 1",
  },
  {
    part: lines('[plugin."io.containerd.cri.v1.runtime"]', "enable_cdi = true"),
    says: '"plugins"',
  },
  { part: "plugins = 1", says: "plugins is a number" },
  { part: lines("[plugins]", '"io.containerd.cri.v1.runtime" = true'), says: "is a boolean" },
  { part: 'oom_score = "high"', says: "whole number" },
  { part: "version = 2", says: "version" },
  { part: "[plugins", says: "line 1" },
  { part: lines("a = 1", "b = ["), says: "line" },
  { part: lines("a = 1", "a = 2"), says: "line 2" },
  { part: "enable_cdi: true", says: "line 1" },
  { part: "x = yes", says: "line 1" },
  { part: lines("[metrics]", "addres = 'a'"), says: '"address"' },
  // Parts whose validity depends on the release.
  {
    talosVersion: "v1.12.7",
    part: lines("[plugins.'io.containerd.nri.v1.nri'.default_validator]", "enable = true"),
    says: "not a containerd key",
  },
  {
    talosVersion: "v1.12.8",
    part: lines("[plugins.'io.containerd.nri.v1.nri'.default_validator]", "enable = true"),
  },
  { talosVersion: "v1.12.11", part: lines("[grpc]", "tcp_tls_common_name = 'a'") },
  {
    talosVersion: "v1.12.11",
    part: lines("[debug]", "log_trace_id = true"),
    says: "not a containerd key",
  },
  { talosVersion: "v1.12.90", part: lines("[debug]", "log_trace_id = true") },
  {
    talosVersion: "v1.12.11",
    part: criRuntime("checkpoint_engine_of_tomorrow = true"),
    says: "leave it out",
  },
  { talosVersion: "v1.12.90", part: criRuntime("checkpoint_engine_of_tomorrow = true") },
  { talosVersion: "v1.12.90", part: criRuntime('cdi_spec_dir = ["x"]'), says: '"cdi_spec_dirs"' },
  { talosVersion: "v1.12.90", part: criRuntime("enable_cdi = 1"), says: "true or false" },
];
