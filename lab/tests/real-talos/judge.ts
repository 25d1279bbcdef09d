import * as fs from "node:fs";
import * as path from "node:path";
import { parseResources, parseTable } from "../../../components/clients/talos/talosctl-output";
import { startFactory } from "../../factory";
import { startMachines } from "../../machines";
import { provideTools } from "../../tools";
import { NODE, RELEASE, type Ended, type Stand } from "./stand";

/** An emulated machine that begins as the real one of a stand does: same configuration, image and authority. */
export interface Emulated {
  talosctl(...args: string[]): Promise<string>;
  start: Stand["start"];
  close(): Promise<void>;
}

/** @param configuration what the real machine began with. */
export async function emulate(stand: Stand, configuration: string): Promise<Emulated> {
  const { machines: binary } = await provideTools({ only: ["machines"] });
  const dir = path.join(stand.dir, "emulated");
  fs.mkdirSync(dir, { recursive: true });
  const factory = await startFactory({ schematics: stand.texts });
  const authority = (kind: string): string => path.join(stand.dir, `authority/ca.${kind}`);
  const config = path.join(dir, "config.yaml");
  fs.writeFileSync(config, configuration);
  const card = {
    model: "a stand-in",
    architecture: "Blackwell",
    pciDevice: "0300_10de",
    count: 1,
    memoryMiB: 16384,
  };
  const machines = await startMachines(binary, {
    dir,
    timeScale: 60,
    factory: factory.url,
    kubernetes: null,
    clusterName: "lab",
    talos: { caCert: authority("crt"), caKey: authority("key") },
    machines: [
      {
        name: NODE,
        address: stand.machine.address,
        role: "worker",
        talosVersion: RELEASE,
        platform: "metal",
        schematicId: stand.schematics.plain,
        config,
        gpus: [
          {
            ...card,
            computeCapability: "12.0",
            minPowerW: 100,
            maxPowerW: 300,
            defaultPowerW: 300,
          },
        ],
      },
    ],
  });
  const endpoint = { TALOS_GPU_ENDPOINT: machines.api };
  return {
    talosctl: (...args) => stand.talosctlOf(machines.api, ...args),
    start: (verb, task, env = {}) => stand.start(verb, task, { ...endpoint, ...env }),
    close: async () => {
      await machines.stop();
      await factory.close();
    },
  };
}

/** What a machine shows of itself of what the product reads, a line each. */
export async function shown(talosctl: Stand["talosctl"]): Promise<string[]> {
  const get = async (type: string): Promise<ReturnType<typeof parseResources>> =>
    parseResources(await talosctl("get", type, "-o", "json"));
  const refused = (...args: string[]): Promise<string> =>
    talosctl(...args).then(
      () => "no error",
      (error: { stderr?: string }) => /code = \w+/.exec(error.stderr ?? "")?.[0] ?? "another error",
    );
  const extensions = (await get("extensions")).map(
    ({ metadata: { id }, spec: { image, metadata } }) =>
      `extension ${id}: ${metadata.name} ${metadata.version} in ${image}`,
  );
  const ids = async (type: string): Promise<string[]> =>
    (await get(type)).map(({ metadata }) => `${type} ${metadata.id}`);
  const [status] = await get("machinestatus");
  const [security] = await get("securitystate");
  const [platform] = await get("platformmetadata");
  const services = parseTable(await talosctl("services")).map(
    // On busy cores a health check fails now and then: whether there is one is what is compared.
    (row) =>
      `service ${row["SERVICE"]}: ${row["STATE"]}, ${row["HEALTH"] === "?" ? "no" : "a"} health check`,
  );
  const modules = (await talosctl("read", "/proc/modules"))
    .split("\n")
    .filter((line) => line.startsWith("nvidia"))
    .map((line) => `module ${line.split(" ")[0]}: ${line.split(" ")[4]}`);
  return [
    ...extensions,
    ...(await ids("machineconfig")),
    ...(await ids("metakeys")),
    `stage ${status?.spec.stage}`,
    `securitystate ${security?.spec.secureBoot}, UKI ${security?.spec.bootedWithUKI}`,
    `platform ${platform?.spec.platform}, host name ${platform?.spec.hostname}`,
    ...services,
    ...modules,
    `the configuration's file: ${await refused("read", "/system/state/config.yaml")}`,
    `an image that is not there: ${await refused("image", "pull", `factory.talos.dev/metal-installer/${"0".repeat(64)}:${RELEASE}`, "--namespace", "system")}`,
  ].sort();
}

/** What the program said, without what a run does not have with another. */
export const words = ({ said }: Pick<Ended, "said">): string[] =>
  said
    .split("\n")
    .map((line) => line.replace(/\b(\d+(\.\d+)? ?(ms|s|m|h))+\b/g, "N s").trim())
    .filter((line) => line !== "");

/** A lab's report on a stack's life: what Pulumi did, what the program said, and what stayed. Lines of one moment overtake each other. */
export const life = (lines: readonly string[]): string[] => {
  const told = lines
    .filter((line) => line.startsWith("    "))
    .map((line) => line.replace(/ \(\d+ done\)$/, ""));
  return [...new Set(words({ said: told.join("\n") }))];
};

/** Lines that only one side has. */
export function unlike(real: readonly string[], emulated: readonly string[]): string[] {
  const only = (a: readonly string[], b: readonly string[], side: string): string[] =>
    a.filter((line) => !b.includes(line)).map((line) => `${side}: ${line}`);
  return [...only(real, emulated, "real"), ...only(emulated, real, "emulated")];
}

/** What is known to differ, and why. */
export const differences: readonly [RegExp, string][] = [
  [
    /: extension modules\.dep: modules\.dep /,
    "its version is the kernel's, which is Debian's in the lab",
  ],
  [/: real: metakeys 9$/, "the state of the disk's encryption (META 0x09), which nothing reads"],
];

/** What may differ in what a lab told, and why. */
export const differencesOfLabs: readonly [RegExp, string][] = [
  [
    /^real: \S+: (powered on|(is|took its configuration) in maintenance mode|its control plane serves)$/,
    "so a lab makes a machine",
  ],
  [
    /^(real|emulated): [\w.-]+: (building|built) N s /,
    "what a computer lacks of the lab is built once",
  ],
  [
    /^real: stays: (Lease kube-node-lease\/|StorageClass lab:|Pod kube-system\/lab-network-)/,
    "the lab's own: a lease, and a class and the network, which come after the machines",
  ],
  [
    /: modern-gpu-upgrade: /,
    "its disk has Talos in maintenance mode: it is upgraded, an emulated one installed",
  ],
  [/^real: .*: compare: waiting up to /, "Kubernetes answers a while after the machine"],
  [/^real: stays: .*\/modules\.dep=/, "the kernel's release, which is Debian's in the lab"],
  [
    /: (\[Pod |Waiting for |Replicas |Resource (is|scheduled) |Skipping await logic)/,
    "what Pulumi sees of an object that it waits for hangs on when it looks",
  ],
  [
    /-gate: \S+: its smoke test(?: waits: | runs$|'s pod starts$)/,
    "what the gate sees of its pod depends on when it looks",
  ],
];
