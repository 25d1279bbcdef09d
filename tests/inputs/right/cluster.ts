import { words, type Inputs } from "../inputs";

/** Right inputs of the cluster. */
export const cluster: Inputs[] = [
  {
    base: "rtx5070ti",
    at: "clusterEndpoint",
    values: [
      ...words("https://10.0.10.10:6443 https://10.0.10.10 https://k8s.example.com:443 https://k8s"),
      ...words("https://k8s.lan:6443/ https://[fd00::1]:6443 https://[2001:db8::1]"),
      ...words("HTTPS://k8s.example.com:6443 https://kube.home.arpa:7445 https://api.example.com."),
    ],
  },
  {
    base: "rtx5070ti",
    at: "factoryUrl",
    values: [
      ...words("https://factory.talos.dev https://factory.talos.dev/ http://factory.lan:8080"),
      ...words("https://10.0.0.5:8443 https://[fd00::5]:8443 http://localhost:8080 http://127.0.0.1:9999"),
      ...words("https://example.com/factory"),
    ],
  },
  {
    base: "rtx5070ti",
    at: "clusterName",
    values: [...words("home Home my-cluster my_cluster k8s.example.com"), "cluster 1", "1"],
  },
  { base: "rtx5070ti", at: "kubernetesVersion", values: [...words("v1.35.0 v1.34.2 1.35.0 v1.33.4")] },
  {
    base: "modern",
    at: "upgrade",
    values: [
      undefined,
      {},
      { maxParallel: 1 },
      { maxParallel: 100 },
      { drain: false },
      { maxParallel: 3, drain: true },
    ],
  },
  ...words("pull drain reboot verify release gate workload").map((wait): Inputs => ({
    base: "rtx5070ti",
    at: `timeouts ${wait}`,
    values: ["90s", "10m", "1h", "1h30m", "1m30s", "1.5h"],
  })),
  {
    base: "rtx5070ti",
    at: "timeouts gate",
    values: [...words("1s 24h 48h 168h 0h10m0s 1500ms 0.5m 3600s 2h45m30s 100m")],
  },
  { base: "omni", at: "clusterName", values: [...words("frank my_cluster Heim-1 büro")] },
  { base: "velaryon", at: "talosVersion", values: ["v1.11.6", "v1.11.9", "v1.12.0-beta.1"] },
];
