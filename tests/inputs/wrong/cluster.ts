import { refused, words, type WrongInputs } from "../inputs";

const long = "a".repeat(100_000);

/** Wrong inputs of the cluster. */
export const cluster: WrongInputs[] = [
  ...refused("rtx5070ti", "clusterEndpoint", {
    shape: [
      ...words("10.0.10.10 10.0.10.10:6443 http://10.0.10.10:6443 https:// https://:6443"),
      ...words("https://10.0.10.256:6443 https://10.0.10.10:99999 https://10.0.10.10:0"),
      ...words("https://10.0.10.10:port https://fd00::1:6443 https://[fd00::1 https://user:pass@host:6443"),
      "https://a b:6443",
      ...words("tcp://10.0.10.10:6443 https//10.0.10.10 https://host/?a=b https://$(id):6443"),
      ...words("https://host:6443#x https://ho,st"),
      "https://host\n:6443",
      "",
      null,
      6443,
      true,
      [],
      "https://-host-:6443",
      "https://<ip>:6443",
      // Ways to a cluster that lead nowhere.
      ...words("https://127.0.0.1:6443 https://localhost:6443 https://0.0.0.0:6443 https://[::1]:6443"),
      ...words("https://192.168.1.220:50000 https://192.168.1.220:50001"),
    ],
  }),
  ...refused("rtx5070ti", "factoryUrl", {
    shape: [
      "factory.talos.dev",
      "ftp://factory.talos.dev",
      "https://",
      "https://a b",
      "https://u:p@factory",
      "https://factory?x",
      "https://factory.talos.dev:99999",
      "",
      1,
      "https://10.0.0.256",
      "https://'||id",
    ],
  }),
  ...refused("rtx5070ti", "kubernetesVersion", {
    "kubernetes-version": [...words("latest 1.35 v1.99.0 v1.20.0 v2.0.0 stable"), "v1.35.0 ", " v1.35.0", "=v1.35.0"],
  }),
  ...refused("rtx5070ti", "talosVersion", {
    "talos-version": [...words("latest 1.12 v1.12 1.12.6 v2.0.0 v1.99.0 main v1.12.6-")],
    shape: [undefined, 1.12, null, "", true, [], {}, ["v1.12.6"], long],
  }),
  ...words("pull drain reboot verify release gate workload").map((wait): WrongInputs => ({
    base: "rtx5070ti",
    at: `timeouts ${wait}`,
    check: "shape",
    values: ["0s", "10", "-5m", "10 m", "ten minutes", "1d", ""],
  })),
  ...refused("rtx5070ti", "timeouts gate", {
    shape: [
      ...words("0 0h0m 500ms 10min 1w m 10M"),
      "1h 30m",
      ...words("∞ 99999h 169h 1e3s"),
      600,
      null,
      true,
      "10m;id",
      "9".repeat(400) + "s",
      "1:30",
      "PT10M",
    ],
  }),
  ...refused("rtx5070ti", "upgrade", {
    shape: [
      { maxParallel: 0 },
      { maxParallel: -1 },
      { maxParallel: 1.5 },
      { maxParallel: "2" },
      { maxParallel: NaN },
      { parallel: 2 },
      [],
      "yes",
      { drain: "false" },
    ],
  }),
  ...refused("rtx5070ti", "nonsense", { shape: [1, null, {}, "x"] }),
  ...refused("rtx5070ti", "__proto__", { shape: [{ bootstrap: true }, 1] }),
  ...refused("rtx5070ti", "constructor", { shape: [{}, "x"] }),
  ...refused("rtx5070ti", "without", { shape: ["validationMarkers", [1], {}] }),
  ...refused("omni", "clusterName", { "omni-machine": ["my cluster", "a/b", "talos.example", "a:b"] }),
  ...refused("velaryon", "talosVersion", {
    "talos-version": [
      // Releases that nobody makes.
      "v1.11.6-dirty",
      "v1.11.6-gpu",
      "v1.11.6-12-gabc",
    ],
  }),
];
