import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { parse } from "yaml";
import { startFactory, type Factory } from "../../../lab/factory";
import { startMachines, type LabMachine, type Machines } from "../../../lab/machines";
import { provideTools } from "../../../lab/tools";

/** Schematic ID of an image without extensions (published by the Image Factory). */
export const plainSchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

/** What talosctl said. */
export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** Emulated machines, and the real talosctl to drive them. */
export interface Stand {
  machines: Machines;
  /** ID of a schematic with NVIDIA's open modules and toolkit of the production branch. */
  gpuSchematic: string;
  /** Writes the worker configuration with a patch (YAML) applied by talosctl; gives its path. */
  configuration(name: string, patch?: string): Promise<string>;
  talosctl(...args: string[]): Promise<Said>;
  /** The same by another program in its place, ended after the limit in milliseconds (default a minute). */
  by(program: string, limit?: number): Stand["talosctl"];
  close(): Promise<void>;
}

const card = {
  model: "RTX 5070 Ti",
  architecture: "Blackwell",
  pciDevice: "0300_10de",
  count: 1,
  memoryMiB: 16303,
  computeCapability: "12.0",
  minPowerW: 250,
  maxPowerW: 300,
  defaultPowerW: 300,
};

/** Kernel modules of NVIDIA's driver, as a patch of the machine configuration. */
export const modulesPatch = `machine:
  kernel:
    modules: [{ name: nvidia }, { name: nvidia_uvm }, { name: nvidia_drm }, { name: nvidia_modeset }]
`;

/**
 * Starts two workers without extensions, one on Talos 1.12 and one on 1.13, and a Factory; a lab minute takes half a
 * second. The programs are built where they are not yet.
 */
export async function openStand(): Promise<Stand> {
  const tools = await provideTools({ only: ["machines", "talosctl"] });
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), "talos-gpu-machines-"));
  const env = { ...process.env, TALOSCONFIG: path.join(dir, "talosconfig") };
  const by =
    (program: string, timeout = 60_000): Stand["talosctl"] =>
    (...args) =>
      new Promise((resolve) => {
        execFile(program, args, { cwd: dir, env, timeout, killSignal: "SIGKILL" }, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, stdout, stderr });
        });
      });
  const talosctl = by(tools.talosctl);
  const must = async (...args: string[]): Promise<void> => {
    const said = await talosctl(...args);
    if (said.code !== 0) throw new Error(`talosctl ${args.join(" ")}: ${said.stderr}`);
  };

  const pki = await makePki(dir, must);
  const factory = await startFactory();
  const gpuSchematic = await register(factory);
  const configuration = async (name: string, patch?: string): Promise<string> => {
    const file = path.join(dir, `${name}.yaml`);
    if (patch === undefined) await fs.copyFile(path.join(dir, "worker.yaml"), file);
    else await must("machineconfig", "patch", "worker.yaml", "--patch", patch, "--output", file);
    return file;
  };
  const machine = async (name: string, address: string, talosVersion: string): Promise<LabMachine> => ({
    name,
    address,
    role: "worker",
    talosVersion,
    schematicId: plainSchematic,
    platform: "metal",
    config: await configuration(`${name}-start`),
    gpus: [card],
  });
  const machines = await startMachines(tools.machines, {
    dir: path.join(dir, "machines"),
    timeScale: 120,
    factory: factory.url,
    kubernetes: null,
    talos: pki,
    clusterName: "lab",
    machines: [await machine("legacy", "10.9.0.12", "v1.12.6"), await machine("cdi", "10.9.0.13", "v1.13.0")],
  });
  await must("config", "endpoint", machines.api);
  const close = async (): Promise<void> => {
    await machines.stop();
    await factory.close();
    await fs.rm(dir, { recursive: true, force: true });
  };
  return { machines, gpuSchematic, configuration, talosctl, by, close };
}

async function makePki(
  dir: string,
  must: (...args: string[]) => Promise<void>,
): Promise<{ caCert: string; caKey: string }> {
  await must("gen", "secrets", "--output-file", "secrets.yaml");
  // Releases that Talos 1.12 has too: it refuses a newer Kubernetes.
  const releases = ["--talos-version", "v1.12", "--kubernetes-version", "1.35.0"];
  const config = ["lab", "https://10.9.0.1:6443", "--with-secrets", "secrets.yaml", "--output", dir, "--force"];
  await must("gen", "config", ...config, ...releases);
  const secrets = parse(await fs.readFile(path.join(dir, "secrets.yaml"), "utf8")) as {
    certs: { os: { crt: string; key: string } };
  };
  const pki = { caCert: path.join(dir, "os.crt"), caKey: path.join(dir, "os.key") };
  await fs.writeFile(pki.caCert, Buffer.from(secrets.certs.os.crt, "base64"));
  await fs.writeFile(pki.caKey, Buffer.from(secrets.certs.os.key, "base64"), { mode: 0o600 });
  return pki;
}

async function register(factory: Factory): Promise<string> {
  const names = ["nvidia-container-toolkit-production", "nvidia-open-gpu-kernel-modules-production"];
  const schematic = {
    customization: { systemExtensions: { officialExtensions: names.map((name) => `siderolabs/${name}`) } },
  };
  const response = await fetch(`${factory.url}/schematics`, { method: "POST", body: JSON.stringify(schematic) });
  return ((await response.json()) as { id: string }).id;
}
