import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { promisify } from "node:util";
import * as semver from "semver";
import { parse, stringify } from "yaml";
import { talosClientOf, talosconfigOf } from "../../components/credentials/texts";
import { findRelease } from "../../components/recipe";
import type { ClusterSpec, MachineSpec } from "../../components/recipe/spec/index";
import { knownContract } from "../providers/talos/contract";
import { foreignPatch } from "./foreign";

const run = promisify(execFile);

/**
 * The Talos cluster before the stack's first update: its keys, and each machine's configuration without a GPU part.
 */
export interface ExistingCluster {
  clusterName: string;
  /** File: `talosctl gen secrets`. */
  secrets: string;
  /** File: machine API's certificate authority. */
  caCert: string;
  caKey: string;
  /** File: configuration by machine name. */
  configurations: Record<string, string>;
  /** File: configuration of each of Omni's machines by name, without patches, which Omni adds. */
  unpatched: Record<string, string>;
  talosconfig(endpoint: string): string;
}

/** Differences if the machines are virtual ones. */
interface SiteOptions {
  /** Folder of the control plane's keys, which the cluster then uses. Default: the cluster has no keys yet. */
  pki?: string;
  /** The cluster's API, as machines reach it. */
  endpoint: string;
  /** Configuration that the owner of an adopted machine wrote. */
  patches(role: MachineSpec["role"]): readonly object[];
  /** Whether `talosctl` generates documents (Talos ≥ 1.14), next to which Talos refuses the older fields. */
  inDocuments: boolean;
}

/**
 * Makes the keys and configurations of a cluster with the real talosctl, as its owner does.
 *
 * @param dir folder for the files, which are secret; made here, readable by the user alone
 */
export async function makeExistingCluster(
  dir: string,
  talosctl: string,
  spec: ClusterSpec,
  site?: SiteOptions,
): Promise<ExistingCluster> {
  await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  const file = (name: string): string => path.join(dir, name);
  const clusterName = spec.clusterName ?? "lab";
  const secrets = file("secrets.yaml");
  const releaseContract = minorOf(spec.talosVersion);
  const versionFlag = (contract: string): string => `--talos-version=${contract}`;
  const pki = site?.pki === undefined ? [] : [`--from-kubernetes-pki=${site.pki}`];
  await run(talosctl, [
    "gen",
    "secrets",
    `--output-file=${secrets}`,
    versionFlag(releaseContract),
    ...pki,
  ]);
  const bundle = await fs.readFile(secrets, "utf8");
  const osAuthority = (parse(bundle) as { certs: { os: { crt: string; key: string } } }).certs.os;
  await fs.writeFile(file("talos-ca.crt"), Buffer.from(osAuthority.crt, "base64"), { mode: 0o600 });
  await fs.writeFile(file("talos-ca.key"), Buffer.from(osAuthority.key, "base64"), { mode: 0o600 });

  const generate = async (
    type: string,
    output: string,
    extra: string[] = [],
    contract = releaseContract,
  ): Promise<void> => {
    const endpoint = site?.endpoint ?? spec.clusterEndpoint ?? "https://192.0.2.1:6443";
    const content = [
      `--with-secrets=${secrets}`,
      versionFlag(contract),
      `--kubernetes-version=${kubernetesOf(spec)}`,
    ];
    const form = [
      "--with-docs=false",
      "--with-examples=false",
      `--output-types=${type}`,
      `--output=${output}`,
      "--force",
    ];
    await run(talosctl, ["gen", "config", clusterName, endpoint, ...content, ...form, ...extra]);
  };
  const configurations: Record<string, string> = {};
  const unpatched: Record<string, string> = {};
  const generateMachine = async ([name, machine]: [string, MachineSpec]): Promise<void> => {
    const hostname = hostnamePatch(name, spec.talosVersion);
    const patchFlags = (texts: string[]): string[] =>
      texts.flatMap((text) => ["--config-patch", text]);
    const patches = await writePatches(file(name), machine, spec, site);
    configurations[name] = file(`${name}.yaml`);
    await generate(
      machine.role,
      configurations[name],
      patchFlags([hostname, ...patches.map((patch) => `@${patch}`)]),
      contractOf(machine, releaseContract),
    );
    if (machine.configuration !== "omni") return;
    unpatched[name] = file(`${name}-unpatched.yaml`);
    await generate(machine.role, unpatched[name], patchFlags([hostname]));
  };
  // The keys exist; the files that are made from them do not depend on one another.
  await Promise.all([
    generate("talosconfig", file("talosconfig.base")),
    ...Object.entries(spec.machines).map(generateMachine),
  ]);
  const base = await fs.readFile(file("talosconfig.base"), "utf8");
  return {
    clusterName,
    secrets,
    caCert: file("talos-ca.crt"),
    caKey: file("talos-ca.key"),
    configurations,
    unpatched,
    talosconfig: (endpoint) => talosconfigVia(base, endpoint),
  };
}

/** A talosconfig that reaches its machines through another endpoint. */
export const talosconfigVia = (text: string, endpoint: string): string =>
  talosconfigOf("lab", talosClientOf(text).configuration, [endpoint]);

/**
 * Adds the host name: the machines are named before the first update, and Talos names a node by its machine's
 * configuration.
 */
export const hostnamePatch = (name: string, talosVersion: string): string =>
  semver.lt(talosVersion, "1.12.0") // from then on talosctl generates a document, and the field is an error
    ? stringify({ machine: { network: { hostname: name } } })
    : stringify({ apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: name });

/** An owner's patches are on the machine already: the cluster's and its own. */
async function writePatches(
  prefix: string,
  machine: MachineSpec,
  spec: ClusterSpec,
  site: SiteOptions | undefined,
): Promise<string[]> {
  const releaseContract = minorOf(spec.talosVersion);
  const contract = contractOf(machine, releaseContract);
  const isSingleNode = Object.keys(spec.machines).length === 1 && machine.role === "controlplane";
  const inDocuments = site?.inDocuments === true && contract === releaseContract;
  const texts = [
    ...(machine.configuration === "omni"
      ? []
      : [...(spec.patches ?? []), ...(machine.patches ?? [])]), // Omni adds them
    ...(machine.configuration === "owned" ? [] : [foreignPatch]),
    ...(machine.configuration === "owned"
      ? []
      : (site?.patches(machine.role) ?? []).map((patch) => stringify(patch))),
    ...(isSingleNode ? [stringify(schedulingPatch(inDocuments))] : []),
  ];
  return Promise.all(
    texts.map(async (text, index) => {
      const file = `${prefix}-patch-${index}.yaml`;
      await fs.writeFile(file, text, { mode: 0o600 });
      return file;
    }),
  );
}

/** The contract of a machine's first configuration. The Talos provider generates that of an owned machine. */
const contractOf = ({ configuration }: MachineSpec, releaseContract: string): string =>
  configuration === "owned" ? knownContract(releaseContract) : releaseContract;

/** Lets a control plane run pods that do not tolerate its taint. */
const schedulingPatch = (inDocuments: boolean): object =>
  inDocuments
    ? {
        apiVersion: "v1alpha1",
        kind: "KubeNodeConfig",
        taints: { "node-role.kubernetes.io/control-plane": { $patch: "delete" } },
      }
    : { cluster: { allowSchedulingOnControlPlanes: true } };

/**
 * The stack's Kubernetes version, or the newest that the Talos release supports, since talosctl's default may be too
 * new.
 */
function kubernetesOf(spec: ClusterSpec): string {
  const newest = findRelease(spec.talosVersion)?.minor.kubernetes.to;
  return spec.kubernetesVersion?.replace(/^v/, "") ?? `1.${newest}.0`;
}

/** `v1.12.6` → `v1.12`: the version contract of a configuration. */
const minorOf = (version: string): string => version.split(".").slice(0, 2).join(".");
