import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { stringify } from "yaml";
import { planCluster } from "../../components/recipe";
import { parseOptions } from "../options";
import { bootsOf, nearestRelease, whyNoMachine } from "../talos";
import { provideRealImages } from "../cluster/real-images";
import { siteOf } from "../talos/site";
import { stackConfiguration } from "../run/stack-configuration";

const machinesAt = (...addresses: string[]): Parameters<typeof siteOf>[0]["machines"] =>
  Object.fromEntries(
    addresses.map((address) => [address, { address, role: "worker" as const }]),
  ) as never;

interface NetworkCase {
  stack: string;
  addresses: string[];
  clusterEndpoint?: string;
  network: string;
  clusterAddress: string;
}

test.each<NetworkCase>([
  {
    stack: "a machine without a clusterEndpoint",
    addresses: ["10.4.0.30"],
    network: "10.4.0.0/24",
    clusterAddress: "10.4.0.251",
  },
  {
    stack: "a machine and a clusterEndpoint of another network",
    addresses: ["192.168.1.224"],
    clusterEndpoint: "https://192.0.2.10:6443",
    network: "192.0.0.0/8",
    clusterAddress: "192.0.2.10",
  },
  {
    stack: "two machines, one of which has the clusterEndpoint",
    addresses: ["192.0.2.20", "192.0.2.21"],
    clusterEndpoint: "https://192.0.2.20:6443",
    network: "192.0.2.0/24",
    clusterAddress: "192.0.2.20",
  },
])(
  "for $stack, the network is $network, and the lab's own addresses differ from the stack's",
  ({ addresses, clusterEndpoint, network, clusterAddress }) => {
    const site = siteOf({
      machines: machinesAt(...addresses),
      ...(clusterEndpoint ? { clusterEndpoint } : {}),
    });
    expect(site).toMatchObject({
      net: network,
      cluster: clusterAddress,
      endpoint: `https://${clusterAddress}:6443`,
    });
    const ownAddresses = [site.host, site.dns, site.registry];
    expect(new Set(ownAddresses).size).toBe(3);
    for (const address of ownAddresses)
      expect([clusterAddress, ...addresses]).not.toContain(address);
  },
);

test("addresses without a common network are refused, and so are host names", () => {
  expect(() => siteOf({ machines: machinesAt("10.0.0.1", "192.0.2.1") })).toThrow(
    /no network contains all of 10/,
  );
  expect(() => siteOf({ machines: machinesAt("gpu.lan") })).toThrow(
    /gpu\.lan is not an IPv4 address/,
  );
});

test("without QEMU, its Debian package is named; downloaded images need neither go nor unshare", () => {
  const { PATH } = process.env;
  process.env.PATH = "/nowhere";
  try {
    expect(whyNoMachine().join("; ")).toContain(
      "no qemu-system-x86_64 on PATH (Debian and Ubuntu: apt-get install",
    );
    expect(whyNoMachine(true).join()).not.toMatch(/no (go|unshare) on PATH/);
  } finally {
    process.env.PATH = PATH;
  }
});

test("a release that cannot be built is replaced by the nearest one", () => {
  const expectedByRelease = {
    "v1.10.6": "v1.11.5",
    "v1.11.1": "v1.11.1",
    "v1.11.6": "v1.11.5",
    "v1.12.9": "v1.12.6",
    "v1.13.2": "v1.13.0",
    "v1.13.10": "v1.13.9",
    "v1.14.1": "v1.14.1",
    "v1.15.0": "v1.14.1",
  };
  for (const [release, expected] of Object.entries(expectedByRelease))
    expect(`${release} → ${nearestRelease(release)}`).toBe(`${release} → ${expected}`);
});

test("on virtual machines, all patches set registry mirrors, and only the control plane's set leader-elect: false", () => {
  const { spec } = stackConfiguration("modern", { timeScale: 0.5, machines: "real" });
  const [controlPlanePatches, gpuPatches] = Object.values(spec.machines).map(({ patches = [] }) =>
    patches.join(),
  );
  for (const text of [controlPlanePatches, gpuPatches]) expect(text).toContain("mirrors:");
  expect(controlPlanePatches).toMatch(/leader-elect: "false"/);
  expect(gpuPatches).not.toContain("leader-elect");
});

test("with --card, the machine runs the stack's Talos release without registry mirrors", () => {
  const options = { timeScale: 0.5, machines: "real", card: "edu" } as const;
  expect(stackConfiguration("next", options).spec.talosVersion).toMatch(/^v1\.15\./);
  const { spec } = stackConfiguration("modern", options);
  for (const { patches = [] } of Object.values(spec.machines)) {
    expect(patches.join()).toContain("certSANs:");
    expect(patches.join()).not.toMatch(/mirrors:|pods:|leader-elect/);
  }
});

test("--card is refused with --machines node, and for a stack of two machines", async () => {
  expect(() => parseOptions(["--card", "edu", "--machines", "node"])).toThrow(
    /^--card: only a virtual machine/,
  );
  const options = { timeScale: 0.5, machines: "real", card: "edu" } as const;
  const { spec } = stackConfiguration("modern", options);
  const labOfTwoMachines = { options, spec, session: {}, talosReleases: [] } as never;
  await expect(provideRealImages(labOfTwoMachines, () => undefined)).rejects.toThrow(
    "--machines real: --card needs a stack of one machine, which is also the control plane; " +
      "leave --machines real out for emulated machines",
  );
});

test("--machines real is refused for machines that the Talos provider cannot install", async () => {
  const options = { timeScale: 0.5, machines: "real" } as const;
  const { spec } = stackConfiguration("modern", options);
  const labOfOldMedium = {
    options,
    spec: { ...spec, talosVersion: "v1.11.5" },
    session: {},
    talosReleases: [],
  } as never;
  await expect(provideRealImages(labOfOldMedium, () => undefined)).rejects.toThrow(
    /^--machines real: .* a medium older than Talos 1\.13/,
  );
});

test("images lose their digests for a real containerd, except with --card", () => {
  const imagesOn = (machines: "emulated" | "node" | "real", card?: string): string[] =>
    Object.values(
      planCluster(
        stackConfiguration("modern", { timeScale: 0.5, machines, ...(card && { card }) }).spec,
      ).kubernetes.images,
    );
  const pinned = imagesOn("emulated").filter((image) => image.includes("@sha256:"));
  expect(pinned.length).toBeGreaterThan(0);
  expect(imagesOn("real", "edu")).toEqual(imagesOn("emulated"));
  const tagged = imagesOn("emulated").map((image) => image.replace(/@.*$/, ""));
  expect(imagesOn("node")).toEqual(tagged);
  expect(imagesOn("real")).toEqual(tagged);
});

test("the lab leaves out a custom installer image, and says what it assumes", () => {
  const machine = { role: "worker", configuration: "adopted", gpus: [{ model: "L4" }] };
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-own-"));
  const file = path.join(folder, "Pulumi.own.yaml");
  const image = "registry.example.com/own/installer:v1.14.6-2";
  fs.writeFileSync(
    file,
    stringify({
      config: {
        "talos-gpu:talosVersion": "v1.14.6",
        "talos-gpu:gpuOperator": { version: "v26.3.3" },
        "talos-gpu:machines": { own: { ...machine, address: "192.0.2.1", installerImage: image } },
      },
    }),
  );
  const { spec, assumptions } = stackConfiguration(file, { timeScale: 0.5, machines: "emulated" });
  fs.rmSync(folder, { recursive: true });
  expect(Object.keys(spec.machines)).toEqual(["own"]);
  expect(spec.machines.own).not.toHaveProperty("installerImage");
  expect(assumptions).toEqual([
    `assumes that ${image} of own holds what the Image Factory's would`,
  ]);
});

test("bootsOf counts every boot on a console, from the boot menu or by kexec", () => {
  const menu =
    "\u001b[2J\u001b[01;01H[    0.000000] Linux version 7.3.4\r\n[    0.000000] Command line: x\r\n";
  const kexec =
    "[   80.1] kexec_core: Starting new kernel\r\n[    0.000000] Linux version 7.3.4\r\n";
  expect(bootsOf("")).toBe(0);
  expect(bootsOf(menu)).toBe(1);
  expect(bootsOf(menu + kexec + menu)).toBe(3);
  const consoleOfPanic = (oops: string): string =>
    `${menu}Oops: ${oops} [#1] SMP\r\n---[ end Kernel panic - not syncing: x ]---\r\n`;
  // A panic by int3 is a fault of QEMU. The lab then resets the machine, and does not count that boot.
  expect(bootsOf(consoleOfPanic("int3: 0000") + menu)).toBe(1);
  expect(bootsOf(consoleOfPanic("general protection fault") + menu)).toBe(2);
});

test.each(["--pulumi installed", "--image image.yaml", "--omni-members", "--time-scale 80"])(
  "%s is refused with --machines real",
  (text) => {
    const option = text.split(" ");
    expect(parseOptions(["--machines", "real"])).toMatchObject({
      machines: "real",
      timeScale: 0.5,
    });
    expect(() => parseOptions(["--machines", "real", ...option])).toThrow(
      new RegExp(`^${option[0]}: .*; leave out this option or --machines real$`),
    );
  },
);
