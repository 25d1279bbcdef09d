import * as fs from "node:fs";
import * as path from "node:path";
import { parseResources, parseTable } from "../../../components/clients/talos/talosctl-output";
import { startFactory } from "../../factory";
import { startMachines } from "../../machines";
import { provideTools } from "../../tools";
import { NODE, RELEASE, type Ended, type Stand } from "./stand";

/** An emulated machine with the same configuration, image and certificate authority as a stand's real machine. */
export interface Emulated {
  talosctl(...args: string[]): Promise<string>;
  start: Stand["start"];
  close(): Promise<void>;
}

/** @param configuration First configuration of the real machine. */
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

/** The machine's resources that the product reads, one line each. */
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
    // On busy cores a health check sometimes fails, so only its presence is compared.
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

/** Output of the program, without the values that differ between two runs. */
export const words = ({ said }: Pick<Ended, "said">): string[] =>
  said
    .split("\n")
    .map((line) => line.replace(/\b(\d+(\.\d+)? ?(ms|s|m|h))+\b/g, "N s").trim())
    .filter((line) => line !== "");

/**
 * A lab's report on a stack's life: Pulumi's actions, the program's output, and the remains. Lines of one moment may
 * swap places.
 */
export const life = (lines: readonly string[]): string[] => {
  const told = lines
    .filter((line) => line.startsWith("    "))
    .map((line) => line.replace(/ \(\d+ done\)$/, ""));
  return [...new Set(words({ said: told.join("\n") }))];
};

/** Lines that occur on one side only. */
export function unlike(real: readonly string[], emulated: readonly string[]): string[] {
  const only = (a: readonly string[], b: readonly string[], side: string): string[] =>
    a.filter((line) => !b.includes(line)).map((line) => `${side}: ${line}`);
  return [...only(real, emulated, "real"), ...only(emulated, real, "emulated")];
}

/** Known differences, each with its reason. */
export const differences: readonly [RegExp, string][] = [
  [
    /: extension modules\.dep: modules\.dep /,
    "it has the version of the kernel, which is Debian's in the lab",
  ],
  [
    /: real: metakeys 9$/,
    "the state of the disk's encryption (META 0x09), which no program here reads",
  ],
];

/** Allowed differences between reports of labs, each with its reason. */
export const differencesOfLabs: readonly [RegExp, string][] = [
  [
    /^real: \S+: (powered on|(is|took its configuration) in maintenance mode|its control plane serves)$/,
    "a lab starts a real machine with these steps",
  ],
  [
    /^(real|emulated): [\w.-]+: (building|built) N s /,
    "the lab builds its missing parts once per computer",
  ],
  [
    /^real: stays: (Lease kube-node-lease\/|StorageClass lab:|Pod kube-system\/lab-network-)/,
    "the lab's own objects: a lease, and the storage class and network that it adds after the machines",
  ],
  [
    /: modern-gpu-upgrade: /,
    "a real machine's disk already has Talos in maintenance mode, so it is upgraded; an emulated one is installed",
  ],
  [/^real: .*: compare: waiting up to /, "Kubernetes answers some time after the machine"],
  [/^real: stays: .*\/modules\.dep=/, "the kernel's release, which is Debian's in the lab"],
  [
    /: (\[Pod |Waiting for |Replicas |Resource (is|scheduled) |Skipping await logic)/,
    "the states of an object that Pulumi waits for depend on the moment at which it looks",
  ],
  [
    /-gate: \S+: its smoke test(?: waits: | runs$|'s pod starts$)/,
    "the states that the gate sees of its pod depend on the moment at which it looks",
  ],
];
