import * as fs from "node:fs";
import * as path from "node:path";
import { parseResources, parseTable } from "../../../components/clients/talos/talosctl-output";
import { startFactory } from "../../factory";
import { startMachines } from "../../machines";
import { provideTools } from "../../tools";
import { NODE, RELEASE, type ProgramResult, type TestBed } from "./test-bed";

/** An emulated machine with the same configuration, image and certificate authority as the test bed's real machine. */
export interface EmulatedMachine {
  talosctl(...args: string[]): Promise<string>;
  startProgram: TestBed["startProgram"];
  close(): Promise<void>;
}

/** @param configuration First configuration of the real machine */
export async function startEmulatedMachine(
  testBed: TestBed,
  configuration: string,
): Promise<EmulatedMachine> {
  const { machines: binary } = await provideTools({ only: ["machines"] });
  const dir = path.join(testBed.dir, "emulated");
  fs.mkdirSync(dir, { recursive: true });
  const factory = await startFactory({ schematics: testBed.schematicTexts });
  const authority = (kind: string): string => path.join(testBed.dir, `authority/ca.${kind}`);
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
        address: testBed.machine.address,
        role: "worker",
        talosVersion: RELEASE,
        platform: "metal",
        schematicId: testBed.schematics.plain,
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
    talosctl: (...args) => testBed.talosctlAt(machines.api, ...args),
    startProgram: (verb, task, env = {}) =>
      testBed.startProgram(verb, task, { ...endpoint, ...env }),
    close: async () => {
      await machines.stop();
      await factory.close();
    },
  };
}

/** The machine's resources that the product reads, one line each. */
export async function resourceLines(talosctl: TestBed["talosctl"]): Promise<string[]> {
  const get = async (type: string): Promise<ReturnType<typeof parseResources>> =>
    parseResources(await talosctl("get", type, "-o", "json"));
  const errorCodeOf = (...args: string[]): Promise<string> =>
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
    `the configuration's file: ${await errorCodeOf("read", "/system/state/config.yaml")}`,
    `an image that is not there: ${await errorCodeOf("image", "pull", `factory.talos.dev/metal-installer/${"0".repeat(64)}:${RELEASE}`, "--namespace", "system")}`,
  ].sort();
}

/** Output of the program, without the values that differ between two runs. */
export const outputLines = ({ output }: Pick<ProgramResult, "output">): string[] =>
  output
    .split("\n")
    .map((line) => line.replace(/\b(\d+(\.\d+)? ?(ms|s|m|h))+\b/g, "N s").trim())
    .filter((line) => line !== "");

/**
 * A lab's report on a stack's life: Pulumi's actions, the program's output, and the remains. Lines of one moment may
 * swap places.
 */
export const lifecycleLines = (lines: readonly string[]): string[] => {
  const messages = lines
    .filter((line) => line.startsWith("    "))
    .map((line) => line.replace(/ \(\d+ done\)$/, ""));
  return [...new Set(outputLines({ output: messages.join("\n") }))];
};

/** The lines that only one of the two machines has, each with its side. */
export function differingLines(real: readonly string[], emulated: readonly string[]): string[] {
  const onlyReal = real.filter((line) => !emulated.includes(line));
  const onlyEmulated = emulated.filter((line) => !real.includes(line));
  return [
    ...onlyReal.map((line) => `real: ${line}`),
    ...onlyEmulated.map((line) => `emulated: ${line}`),
  ];
}

/** A difference between a real and an emulated machine that the tests allow. */
interface KnownDifference {
  line: RegExp;
  reason: string;
}

/** Differences between the machines' resources, and between the program's messages about them. */
export const knownDifferences: readonly KnownDifference[] = [
  {
    line: /: extension modules\.dep: modules\.dep /,
    reason: "it has the version of the kernel, which is Debian's in the lab",
  },
  {
    line: /: real: metakeys 9$/,
    reason: "the state of the disk's encryption (META 0x09), which no program here reads",
  },
];

/** Differences between the reports of labs. */
export const knownLabDifferences: readonly KnownDifference[] = [
  {
    line: /^real: \S+: (powered on|(is|took its configuration) in maintenance mode|its control plane serves)$/,
    reason: "a lab starts a real machine with these steps",
  },
  {
    line: /^(real|emulated): [\w.-]+: (building|built) N s /,
    reason: "the lab builds its missing parts once per computer",
  },
  {
    line: /^real: stays: (Lease kube-node-lease\/|StorageClass lab:|Pod kube-system\/lab-network-)/,
    reason:
      "the lab's own objects: a lease, and the storage class and network that it adds after the machines",
  },
  {
    line: /: modern-gpu-upgrade: /,
    reason:
      "a real machine's disk already has Talos in maintenance mode, so it is upgraded; an emulated one is installed",
  },
  {
    line: /^real: .*: compare: waiting up to /,
    reason: "Kubernetes answers some time after the machine",
  },
  {
    line: /^real: stays: .*\/modules\.dep=/,
    reason: "the kernel's release, which is Debian's in the lab",
  },
  {
    line: /: (\[Pod |Waiting for |Replicas |Resource (is|scheduled) |Skipping await logic)/,
    reason: "the states of an object that Pulumi waits for depend on the moment at which it looks",
  },
  {
    line: /-gate: \S+: its smoke test(?: waits: | runs$|'s pod starts$)/,
    reason: "the states that the gate sees of its pod depend on the moment at which it looks",
  },
];
