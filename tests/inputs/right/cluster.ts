import type { RightValues } from "../values";

/** Right values of the cluster's fields. */
export const cluster: RightValues[] = [
  {
    base: "rtx5070ti",
    field: "clusterEndpoint",
    values: [
      "https://10.0.10.10:6443",
      "https://10.0.10.10",
      "https://k8s.example.com:443",
      "https://k8s",
      "https://k8s.lan:6443/",
      "https://[fd00::1]:6443",
      "https://[2001:db8::1]",
      "HTTPS://k8s.example.com:6443",
      "https://kube.home.arpa:7445",
      "https://api.example.com.",
    ],
  },
  {
    base: "rtx5070ti",
    field: "factoryUrl",
    values: [
      "https://factory.talos.dev",
      "https://factory.talos.dev/",
      "http://factory.lan:8080",
      "https://10.0.0.5:8443",
      "https://[fd00::5]:8443",
      "http://localhost:8080",
      "http://127.0.0.1:9999",
      "https://example.com/factory",
    ],
  },
  {
    base: "rtx5070ti",
    field: "clusterName",
    values: ["home", "Home", "my-cluster", "my_cluster", "k8s.example.com", "cluster 1", "1"],
  },
  {
    base: "rtx5070ti",
    field: "kubernetesVersion",
    values: ["v1.35.0", "v1.34.2", "1.35.0", "v1.33.4"],
  },
  {
    base: "modern",
    field: "upgrade",
    values: [
      {},
      { maxParallel: 1 },
      { maxParallel: 100 },
      { drain: false },
      { maxParallel: 3, drain: true },
    ],
  },
  {
    base: "rtx5070ti",
    field: [
      "timeouts.pull",
      "timeouts.drain",
      "timeouts.reboot",
      "timeouts.verify",
      "timeouts.release",
      "timeouts.gate",
      "timeouts.workload",
    ],
    values: ["90s", "10m", "1h", "1h30m", "1m30s", "1.5h"],
  },
  {
    base: "rtx5070ti",
    field: "timeouts.gate",
    values: ["1s", "24h", "48h", "168h", "0h10m0s", "1500ms", "0.5m", "3600s", "2h45m30s", "100m"],
  },
  {
    base: "omni",
    field: "clusterName",
    values: ["frank", "my_cluster", "Heim-1", "büro"],
  },
  {
    base: "velaryon",
    field: "talosVersion",
    values: ["v1.11.6", "v1.11.9", "v1.12.0-beta.1"],
  },
  {
    base: "modern",
    field: "upgrade",
    values: [undefined],
  },
];
