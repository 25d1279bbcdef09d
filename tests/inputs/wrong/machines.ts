import { machine, refused, words, type WrongInputs } from "../inputs";

const long = "a".repeat(100_000);
const pair = (a: string, b: string): object => ({ a: machine({ address: a }), b: machine({ address: b }) });

/** Wrong inputs of machines. */
export const machines: WrongInputs[] = [
  ...refused("velaryon", "machines velaryon address", {
    "machine-address": [
      ...words("10.0.0.256 10.0.0 10.0.0.0.1 010.0.0.1 10.0.0.1,10.0.0.2"),
      "10.0.0.1 10.0.0.2",
      ...words("10.0.0.1;id $(id) `id` ${IP} 10.0.0.1:50000 https://10.0.0.1 tcp://10.0.0.1:50000"),
      ...words("10.0.0.0/24 10.0.0.1/32 fd00::1/64 [fd00::1] [fd00::1]:50000 127.0.0.1 127.1.2.3 ::1 0.0.0.0"),
      ...words(":: 224.0.0.1 239.1.1.1 ff02::1 255.255.255.255 240.0.0.1 localhost 0:0:0:0:0:0:0:1"),
      ...words("::ffff:127.0.0.1 fe80::1 fd00::g fd00:::1 1:2:3:4:5:6:7:8:9 10.0.0.x 10.0.0.-1 0x0a000001"),
      ...words("167772161 node:50000 -gpu gpu- gpu..lan .gpu gpu! gpu/1 gpu@lan user@gpu"),
      "a b",
      "gpü.lan",
      "a".repeat(64),
      `${"a.".repeat(130)}b`,
      ...words("<ip> gpu,lan 10.0.0.1%eth0 fe80::1% fe80::1%$(id) 1.2.3.4. 1.2.3.4.5.example.1"),
      "fe80::1%25eth0",
    ],
    shape: [
      undefined,
      null,
      "",
      " ",
      10,
      10.5,
      true,
      [],
      ["10.0.0.1"],
      {},
      "10.0.0.1\0",
      "10.0.0.\u0007",
      long.repeat(11),
    ],
  }),
  ...refused("three-generations", "machines", {
    "machine-address": [
      pair("10.0.0.1", "10.0.0.1"),
      pair("fd00::1", "fd00:0:0:0:0:0:0:1"),
      pair("FD00::A", "fd00::a"),
      pair("fd00:0001::", "fd00:1::"),
      pair("::ffff:10.0.0.1", "10.0.0.1"),
      pair("Gpu.lan", "gpu.lan"),
      pair("gpu.lan.", "gpu.lan"),
      pair("2001:db8::1", "2001:0db8:0000::0001"),
    ],
    "machine-name": [
      ...[
        "GPU",
        "gpu_1",
        "gpu 1",
        ...words("-gpu gpu- gpu..1 .gpu gpu/1 gpü"),
        "a".repeat(64),
        "$(id)",
        "gpu:1",
        "a\nb",
        "",
      ].map((name) => ({
        [name]: machine(),
      })),
    ],
    shape: [
      null,
      [],
      "gpu",
      1,
      true,
      { a: null },
      { a: [] },
      { a: "10.0.0.1" },
      [machine()],
      { [long]: machine() },
      { a: { ...machine(), adress: "x" } },
      { a: { ...machine(), __proto__: undefined, constructor: 1 } },
    ],
    "gpu-machine": [undefined],
  }),
  ...refused("velaryon", "machines velaryon role", {
    shape: [
      undefined,
      null,
      "",
      "control-plane",
      "master",
      "Worker",
      "controlplane ",
      1,
      [],
      "constructor",
      "toString",
    ],
  }),
  ...refused("velaryon", "machines velaryon configuration", {
    shape: [undefined, "own", "Owned", "", null, true, "__proto__", "constructor"],
  }),
  ...refused("velaryon", "machines velaryon labels", {
    "node-labels": [
      ...["a b", "-a", "a-", "a/b", "x".repeat(64), ...words("ä a:b _ . $(id)"), "a\nb", "a,b", "a=b"].map((value) => ({
        role: "gpu",
        slot: value,
      })),
      ...[
        "",
        "a b",
        ...words("-a a/b/c /a a/ UPPER.com/a exa_mple.com/a"),
        "x".repeat(64),
        "a=b",
        "ä",
        "a/-b",
        `${"a".repeat(254)}/b`,
      ].map((key) => ({
        role: "gpu",
        [key]: "y",
      })),
      ...["false", "no", "0", ""].map((value) => ({ role: "gpu", "nvidia.com/gpu.present": value })),
      // Labels and taints that others write.
      { role: "gpu", "kubernetes.io/hostname": "other" },
      { role: "gpu", "kubernetes.io/arch": "x86_64" },
      { role: "gpu", "kubernetes.io/os": "windows" },
    ],
    shape: [{ role: true }, { role: 1 }, { role: null }, { role: [] }, [], "role=gpu", ["role=gpu"], { role: {} }],
  }),
  ...refused("modern", "machines gpu-1 labels nvidia.com/gpu.deploy.operator-validator", { "node-labels": ["false"] }),
  ...refused("modern", "machines gpu-1 labels nvidia.com/gpu.deploy.device-plugin", { "node-labels": ["false", "no"] }),
  ...refused("mig", "machines dc-1 labels", {
    "node-labels": [{ "nvidia.com/gpu.deploy.mig-manager": "false" }, { "nvidia.com/mig.config": "all-disabled" }],
  }),
  ...refused("velaryon", "machines velaryon taints", {
    taints: [
      ...[
        ...words("NoSchedule true true:noschedule true:NoSchedule:x true=NoSchedule true:"),
        "",
        "a b:NoSchedule",
        "true:Evict",
        "-x:NoSchedule",
      ].map((text) => ({ gpu: text })),
      ...["a b", "gpu=true", "", "a/b/c", "x".repeat(64), "-gpu", "gpu:NoSchedule"].map((key) => ({
        [key]: ":NoSchedule",
      })),
      { gpu: `${"v".repeat(64)}:NoSchedule` },
      { "node.kubernetes.io/unschedulable": ":NoSchedule" },
      { "node.cloudprovider.kubernetes.io/uninitialized": "true:NoSchedule" },
    ],
    shape: [["gpu=true:NoSchedule"], "gpu=true:NoSchedule", { gpu: true }, { gpu: null }, [{ key: "gpu" }]],
  }),
  ...refused("velaryon", "machines velaryon extensions", {
    "extension-name": [
      ["constructor"],
      ["toString"],
      ["siderolabs/no-such-thing"],
      ["iscsi"],
      ["siderolabs/nvidia"],
      ["hasOwnProperty"],
      [long.slice(0, 4000)],
    ],
    shape: ["siderolabs/iscsi-tools", {}, [1], [null], [[]], [""], [long]],
    "driver-branches": [
      // A list of extensions against what is said of the driver.
      ["siderolabs/nvidia-container-toolkit-production"],
      ["siderolabs/nvidia-open-gpu-kernel-modules-production", "siderolabs/nvidia-container-toolkit-production"],
    ],
  }),
  ...refused("velaryon", "machines velaryon kernelArgs", {
    "kernel-args": [["a b"], ["'a'"], ['"a=b"'], ["iommu=pt quiet"], ["talos.platform=aws"], ["=x"]],
    shape: ["iommu=pt", [true], [""], { iommu: "pt" }],
  }),
  ...refused("velaryon", "machines velaryon platform", {
    platform: [...words("baremetal Metal constructor __proto__ proxmox libvirt")],
  }),
  ...refused("velaryon", "machines velaryon secureBoot", { shape: ["true", 1, "yes", null] }),
  ...refused("velaryon", "machines velaryon gpus", {
    shape: [
      "RTX 4090",
      {},
      [{}],
      ["RTX 4090"],
      [{ model: 4090 }],
      [{ model: "" }],
      [{ model: "RTX 2070 SUPER", count: 0 }],
      [{ model: "RTX 2070 SUPER", count: -1 }],
      [{ model: "RTX 2070 SUPER", count: 1.5 }],
      [{ model: "RTX 2070 SUPER", count: "2" }],
      [{ model: "RTX 2070 SUPER", count: 33 }],
      [{ model: "RTX 2070 SUPER", count: 1e9 }],
      [{ model: "RTX 2070 SUPER", count: NaN }],
      [{ model: "RTX 2070 SUPER", count: Infinity }],
      [{ model: "RTX 2070 SUPER", counts: 1 }],
      [null],
      null,
      [{ model: "New Card", architecture: "Ada", memory: "48" }],
    ],
    "gpu-model": [
      [{ model: "RTX" }],
      [{ model: "NVIDIA RTX" }],
      // What is no card of this package's, described or not: virtual, in a system on a chip, too old.
      ...["GRID P40-8Q", "NVIDIA A16-4Q", "A100-1-5C", "Jetson AGX Orin", "NVIDIA Jetson AGX Thor", "Orin NX"].flatMap(
        (model) => [[{ model }], [{ model, architecture: "Ampere", memory: "8Gi" }]],
      ),
      ...["Quadro K4200", "Tesla K80", "GeForce GTX 680", "GRID K2", "GeForce GT 710"].map((model) => [{ model }]),
    ],
  }),
  ...refused("velaryon", "machines velaryon powerLimit", { shape: [0, -1, "200", "200W", NaN, null, Infinity, []] }),
  ...refused("velaryon", "machines velaryon containerd cdiSpecDirs", {
    shape: [["run/cdi"], ["./cdi"], [""], ["/a/../b"], "/run/cdi", ["~/cdi"], ["/run/my cdi"]],
  }),
  ...refused("velaryon", "machines velaryon containerd", {
    shape: [{ runtime: "nvidia" }, [], "nvidia", { nvidiaDefaultRuntime: "true" }],
  }),
  ...refused("velaryon", "machines velaryon overlay", {
    shape: [
      { image: "siderolabs/SBC", name: "turingrk1" },
      { image: "S BC", name: "a" },
      { image: "siderolabs/sbc-rockchip", name: "" },
    ],
  }),
  ...refused("velaryon", "machines velaryon runningVersion", {
    "upgrade-step": [...words("latest 1.11 v1.9.0 v1.12.0 constructor 1.10.9 1.11.5")],
  }),
  ...refused("modern", "machines gpu-1 labels", {
    "node-labels": [{ role: "gpu", "nvidia.com/device-plugin.config": "nope" }],
  }),
  ...refused("rtx5070ti", "machines k8s-worker4 extensions", {
    "driver-branches": [["siderolabs/nvidia-open-gpu-kernel-modules-lts", "siderolabs/nvidia-container-toolkit-lts"]],
  }),
];
