import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse, parseAllDocuments } from "yaml";
import { chartFolder } from "../../lab/charts";
import { type ControlPlane, startControlPlane } from "../../lab/controlplane";
import { startFactory, type Factory } from "../../lab/factory";
import { startMachines, type Machines } from "../../lab/machines";
import { provideTools } from "../../lab/tools";
import { daemonLabel, powerLimitLabel } from "../../components/recipe/machine/daemon-labels";
import { kubernetesOf } from "../e2e/support/kubernetes";
import { untilSeen } from "../../lab/until";

const run = promisify(execFile);
/** Namespace of the GPU Operator. */
export const namespace = "gpu-operator";
/** The one machine, and its node. */
export const node = "gpu-1";

/** The machine's configuration with every fix that Talos 1.12 needs, and a label of a machine with a power limit. */
const patch = `machine:
  kernel: { modules: [{ name: nvidia }, { name: nvidia_uvm }, { name: nvidia_drm }, { name: nvidia_modeset }] }
  sysctls: { net.core.bpf_jit_harden: "1" }
  nodeLabels: { nvidia.com/gpu.deploy.operator-validator: "false", ${daemonLabel.powerLimit}: ${powerLimitLabel(280)} }
`;

const values = {
  driver: { enabled: false },
  toolkit: { enabled: false },
  migManager: { enabled: false },
  devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] },
};

/** An object of the Kubernetes API. */
export interface Found {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: any;
  status?: any;
}

let dir: string;
let controlPlane: ControlPlane;
let factory: Factory;
let machines: Machines;
let helm: string;

/** Starts a control plane and one machine; closed by `closeStand`. */
export async function openStand(): Promise<Machines> {
  const tools = await provideTools({ only: ["controlplane", "machines", "talosctl", "helm"] });
  helm = tools.helm;
  dir = await fs.mkdtemp(path.join(os.tmpdir(), "talos-gpu-kubelet-"));
  factory = await startFactory();
  controlPlane = await startControlPlane({ dir: path.join(dir, "controlplane"), binary: tools.controlplane });
  machines = await startOne(tools.machines, tools.talosctl);
  return machines;
}

/** Stops everything and removes its files. */
export async function closeStand(): Promise<void> {
  await machines?.stop();
  await controlPlane?.stop();
  await factory?.close();
  if (dir) await fs.rm(dir, { recursive: true, force: true });
}

/** One worker on Talos 1.12 with NVIDIA's extensions, and a kubelet. */
async function startOne(binary: string, talosctl: string): Promise<Machines> {
  const at = (file: string): string => path.join(dir, file);
  const talos = (...args: string[]): Promise<unknown> => run(talosctl, args, { cwd: dir });
  await talos("gen", "secrets", "--output-file", "secrets.yaml");
  const releases = ["--talos-version", "v1.12", "--kubernetes-version", "1.35.0"];
  await talos(
    "gen",
    "config",
    "lab",
    "https://10.9.0.1:6443",
    "--with-secrets",
    "secrets.yaml",
    "--output",
    dir,
    ...releases,
  );
  const named = JSON.stringify({ apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: node });
  const patches = [patch, named].flatMap((text) => ["--patch", text]);
  await talos("machineconfig", "patch", "worker.yaml", ...patches, "--output", "machine.yaml");
  const secrets = parse(await fs.readFile(at("secrets.yaml"), "utf8")) as {
    certs: { os: { crt: string; key: string } };
  };
  await fs.writeFile(at("os.crt"), Buffer.from(secrets.certs.os.crt, "base64"));
  await fs.writeFile(at("os.key"), Buffer.from(secrets.certs.os.key, "base64"), { mode: 0o600 });
  const names = ["nvidia-container-toolkit-production", "nvidia-open-gpu-kernel-modules-production"];
  const officialExtensions = names.map((name) => `siderolabs/${name}`);
  const body = JSON.stringify({ customization: { systemExtensions: { officialExtensions } } });
  const schematic = (await (await fetch(`${factory.url}/schematics`, { method: "POST", body })).json()) as {
    id: string;
  };
  const card = { model: "RTX 5070 Ti", architecture: "Blackwell", pciDevice: "0300_10de", count: 1, memoryMiB: 16303 };
  const { server, adminKubeconfig, caCert, caKey, nodes } = controlPlane;
  return startMachines(binary, {
    dir: at("machines"),
    timeScale: 60,
    factory: factory.url,
    kubernetes: { server, adminKubeconfig, caCert, caKey, nodes },
    talos: { caCert: at("os.crt"), caKey: at("os.key") },
    clusterName: "lab",
    machines: [
      {
        name: node,
        address: "10.9.0.21",
        role: "worker",
        talosVersion: "v1.12.6",
        schematicId: schematic.id,
        platform: "metal",
        config: at("machine.yaml"),
        gpus: [{ ...card, computeCapability: "12.0", minPowerW: 250, maxPowerW: 300, defaultPowerW: 300 }],
      },
    ],
  });
}

/** Reads until what was read satisfies; fails with what was seen last. */
export async function eventually<Seen>(
  what: string,
  read: () => Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<Seen> {
  const reading = (): Promise<Seen | Error> => read().catch((error: Error) => error);
  const well = (seen: Seen | Error): boolean => !(seen instanceof Error) && holds(seen);
  return (await untilSeen(what, { seconds: 40, every: 100 }, reading, well)) as Seen;
}

/** Path of an object's kind in the API. */
function collection({ apiVersion, kind, metadata }: Found): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, "ies");
  return metadata.namespace === undefined
    ? `${group}/${plural}`
    : `${group}/namespaces/${metadata.namespace}/${plural}`;
}

async function call(method: string, url: string, body?: unknown): Promise<any> {
  const answer = await kubernetesOf(controlPlane.adminKubeconfig).answer(method, url, body);
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Creates an object. */
export const create = (object: Found): Promise<Found> => call("POST", collection(object), object);

/** Reads an object anew. */
export const read = (object: Found): Promise<Found> => call("GET", `${collection(object)}/${object.metadata.name}`);

/** The machine's node. */
export const readNode = (): Promise<Found> => read({ apiVersion: "v1", kind: "Node", metadata: { name: node } });

/** Pods of the namespace by a label. */
export const readPods = async (label: string): Promise<Found[]> =>
  (await call("GET", `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(label)}`)).items;

/** Log of a pod so far. */
export const logOf = async ({ metadata }: Found): Promise<string> => {
  const text = await call("GET", `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log`);
  return text as string;
};

/** Installs the GPU Operator's chart. */
export async function install(): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
  await create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  const chart = await chartFolder(dir, "gpu-operator", "v25.10.1");
  const file = path.join(dir, "values.json");
  await fs.writeFile(file, JSON.stringify(values));
  const { stdout } = await run(
    helm,
    ["template", "it", chart, "-n", namespace, "--include-crds", "--no-hooks", "-f", file],
    {
      maxBuffer: 1e7,
    },
  );
  for (const document of parseAllDocuments(stdout)) {
    const object = (document as { toJS(): unknown }).toJS() as Found | null;
    // The definition of a ClusterPolicy takes a moment to be served.
    if (object)
      await eventually(
        `create ${object.kind}`,
        () => create(object),
        () => true,
      );
  }
}
