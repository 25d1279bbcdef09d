import { machine, words, type Inputs } from "../inputs";

const h100 = { model: "H100 NVL" };

/** Right inputs of machines. */
export const machines: Inputs[] = [
  {
    base: "velaryon",
    at: "machines velaryon address",
    values: [
      ...words("10.0.0.1 192.168.1.254 172.16.0.10 100.64.0.7 203.0.113.9 169.254.1.2 1.1.1.1 2001:db8::10"),
      ...words("fd00::1 FD00:0:0::A fdae:41e4:649b:9303::1 2001:db8:0:0:0:0:0:1 ::ffff:10.0.0.1 fe80::1%eth0"),
      ...words("gpu gpu-1 gpu-1.lan gpu-1.example.com gpu-1.example.com. GPU-1.Example.com k8s.home.arpa"),
      ...words("node_1.lan 1.node.example.com xn--bcher-kva.example a.b.c.d.e.f.g.h 3com.example"),
    ],
  },
  {
    base: "three-generations",
    at: "machines",
    values: [
      ...words("gpu gpu-1 gpu-1.example.com 1 0-0 constructor tostring hasownproperty valueof").map((name) => ({
        [name]: machine(),
      })),
      ...["a".repeat(63), "node.with.dots", "ip-10-0-0-1.ec2.internal", "prototype"].map((name) => ({
        [name]: machine(),
      })),
      { a: machine({ address: "10.0.0.1" }), b: machine({ address: "10.0.0.2" }), c: machine({ address: "fd00::1" }) },
      { a: machine({ address: "fd00::1" }), b: machine({ address: "fd00::2" }) },
      { a: machine({ address: "10.0.0.1" }), b: machine({ address: "10.0.0.10" }) },
      { a: machine({ address: "fe80::1%eth0" }), b: machine({ address: "fe80::1%eth1" }) },
      { a: machine({ address: "10.0.0.1", gpus: [] }), b: machine() },
      { a: machine({ address: "10.0.0.1", gpus: undefined }), b: machine() },
      { a: machine({ gpus: [{ model: "RTX 4090", count: 8 }] }) },
      {
        a: machine({
          gpus: [
            { model: "RTX 4090", count: 1 },
            { model: "RTX 4090", count: 2 },
          ],
        }),
      },
      { a: machine({ gpus: [{ model: "RTX 4090" }, { model: "RTX 3090" }] }) },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon labels",
    values: [
      { role: "gpu", a: "b" },
      ...["true", "", ...words("1 A a.b a_b a-b"), "x".repeat(63), "v1.2.3", "0"].map((value) => ({
        role: "gpu",
        slot: value,
      })),
      ...[
        ...words("example.com/rack a A_B.c-d topology.kubernetes.io/zone node-role.kubernetes.io/gpu"),
        "x".repeat(63),
      ].map((key) => ({ role: "gpu", [key]: "y" })),
      ...words("constructor toString hasOwnProperty valueOf prototype 1").map((key) => ({
        role: "gpu",
        [key]: "y",
      })),
      { role: "gpu", "nvidia.com/gpu.present": "true" },
      { role: "gpu", "nvidia.com/gpu.deploy.dcgm": "false" },
      { role: "gpu", [`${"a".repeat(60)}.${"b".repeat(60)}.example.com/name`]: "y" },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon taints",
    values: [
      {},
      ...words("true:NoSchedule :NoSchedule :PreferNoSchedule present:NoExecute a.b_c-d:NoSchedule").map((text) => ({
        gpu: text,
      })),
      ...words("nvidia.com/gpu dedicated node.example.com/gpu A_B.c constructor").map((key) => ({
        [key]: ":NoSchedule",
      })),
      { gpu: "true:NoSchedule", other: ":NoExecute" },
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon extensions",
    values: [
      [],
      ["siderolabs/iscsi-tools"],
      ["siderolabs/i915"],
      ["siderolabs/util-linux-tools", "siderolabs/qemu-guest-agent"],
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon kernelArgs",
    values: [
      [],
      ["iommu=pt"],
      ["-selinux"],
      ["net.ifnames=0", "console=ttyS0,115200n8"],
      ["intel_iommu=on", "pcie_aspm=off"],
    ],
  },
  {
    base: "velaryon",
    at: "machines velaryon moduleParameters",
    values: [
      {},
      { nvidia: ["NVreg_OpenRmEnableUnsupportedGpus=1"], nvidia_drm: ["modeset=1", "fbdev=1"] },
      { nvidia: ['NVreg_RegistryDwords="PowerMizerEnable=0x1; PerfLevelSrc=0x2222"'] },
    ],
  },
  { base: "velaryon", at: "machines velaryon platform", values: [...words("metal nocloud aws hcloud openstack")] },
  { base: "velaryon", at: "machines velaryon secureBoot", values: [true, false] },
  {
    base: "velaryon",
    at: "machines velaryon containerd",
    values: [{}, { cdiSpecDirs: [] }, { cdiSpecDirs: ["/run/cdi", "/var/cdi/static"] }, { baseRuntimeSpec: true }],
  },
  { base: "rtx3090-timeslicing", at: "machines gpu-a powerLimit", values: [undefined, 250, 300, 280.5, 350] },
  {
    base: "mig",
    at: "machines",
    values: [
      { dc: machine({ address: "10.6.0.1", gpus: [{ model: "H200" }] }), ws: machine({ address: "10.6.0.2" }) },
      {
        dc: machine({ gpus: [{ model: "H200", count: 8 }] }),
        cp: machine({ address: "10.6.0.3", role: "controlplane", gpus: [] }),
      },
    ],
  },
  {
    base: "omni",
    at: "machines gpu-1 containerd cdiSpecDirs",
    values: [["/var/cdi/static"], ["/run/cdi", "/etc/cdi"]],
  },
  {
    base: "aarhus-h100",
    at: "machines",
    values: [
      {
        a: machine({ address: "10.0.0.1", gpus: [{ ...h100, count: 4 }], labels: { size: "large" } }),
        b: machine({ address: "10.0.0.2", gpus: [h100] }),
      },
      { a: machine({ gpus: [{ ...h100, count: 8 }], taints: { gpu: ":NoSchedule" } }) },
    ],
  },
  {
    base: "three-generations",
    at: "machines titan gpus",
    values: [
      // As nvidia-smi prints cards.
      ...["NVIDIA TITAN RTX", "TITAN RTX", "NVIDIA TITAN V", "NVIDIA TITAN Xp", "Tesla V100-FHHL-16GB"].map((model) => [
        { model },
      ]),
    ],
  },
];
