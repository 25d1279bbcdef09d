import { platforms } from "../facts/data/since.json";
import { parseTalosVersion } from "../facts/version";
import { valueAt } from "../mapping";
import { canonicalAddress, didYouMean, machineAddress as addressRule, objectName, shown } from "../rules";
import type { ClusterSpec } from "../spec/index";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  complaint,
  type Found,
  ofMachines,
  together,
} from "./check";

/** What a machine is: whose, where, and by what name. */
export const machineChecks: Checks = {
  "owned-machine": ({ spec, machines }) => {
    const owned = machines.filter((machine) => machine.spec.configuration === "owned").map((machine) => machine.name);
    if (owned.length === 0) return [];
    const needed = { clusterName: "home", clusterEndpoint: "https://10.0.10.10:6443", kubernetesVersion: "v1.35.0" };
    return Object.entries(needed)
      .filter(([field]) => spec[field as keyof typeof needed] === undefined)
      .map(([field, example]) => complaint(field, "owned-machine", { owned, example }));
  },
  "omni-machine": together(
    ofMachines(uuidComplaints),
    ({ spec, machines }) => ofOmni(spec, machines.find(isOmnis)?.name),
    ofMachines(
      (machine) =>
        isOmnis(machine) &&
        decidedByOmni
          .filter((field) => machine.spec[field] !== undefined)
          .map((field) => {
            const saying = field === "kernelArgs" ? "omni-machine/kernel-args" : "omni-machine/image";
            return complaint(`.${field}`, saying, { machine });
          }),
    ),
  ),
  bootstrap: together(
    ofMachines(
      ({ spec: { configuration } }, { spec }) =>
        spec.bootstrap === true &&
        configuration !== "owned" &&
        complaint(".configuration", "bootstrap/configuration", { configuration }),
    ),
    ({ spec, machines }) =>
      spec.bootstrap === true &&
      !machines.some((machine) => machine.spec.role === "controlplane") &&
      complaint("bootstrap", "bootstrap/control-plane"),
  ),
  "machine-name": ofMachines((machine, context) => {
    const { field, name } = machine;
    if (objectName(name) !== undefined || name.length > longest)
      return complaint(field, "machine-name/form", { name: shown(name), longest });
    if (machine.spec.configuration !== "owned" || !name.includes(".") || registersWithDomain(machine, context))
      return [];
    return complaint(field, "machine-name/domain", { name: shown(name), short: name.split(".")[0] });
  }),
  "machine-address": ({ machines }) => {
    const first = new Map<string, string>();
    return machines.map(({ field, name, spec: { address } }) => {
      const fault = addressRule(address);
      if (fault) return { field: `${field}.address`, ...fault };
      const one = canonicalAddress(address);
      const other = first.get(one);
      first.set(one, other ?? name);
      return other !== undefined && complaint(`${field}.address`, "machine-address", { address, other });
    });
  },
  platform: ofMachines((machine) => {
    const name = machine.spec.platform;
    if (name === undefined || platforms.names.includes(name)) return [];
    return complaint(".platform", "platform", { name, meant: didYouMean(name, platforms.names), platforms });
  }),
};

/** A UUID as Omni writes it: the machine's SMBIOS UUID in lower case. */
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A cluster's name in Omni. Source: siderolabs/omni, client/pkg/omni/resources/omni/cluster.go (ClusterValidator, validateID). */
const clusterForm = /^[\p{L}\p{Nd}_-]+$/u;

/** What Omni decides: said in a stack, it has no effect. */
const decidedByOmni = ["platform", "secureBoot", "kernelArgs", "overlay", "customization", "installerImage"] as const;

const isOmnis = ({ spec }: CheckedMachine): boolean => spec.configuration === "omni";

/** What is wrong with a stack that has a machine of Omni's. */
const ofOmni = ({ clusterName, talosVersion }: ClusterSpec, name: string | undefined): Found =>
  name !== undefined && [
    clusterName === undefined && complaint("clusterName", "omni-machine/cluster-missing", { name }),
    clusterName !== undefined &&
      !clusterForm.test(clusterName) &&
      complaint("clusterName", "omni-machine/cluster-name", { clusterName: shown(clusterName) }),
    (parseTalosVersion(talosVersion)?.minor ?? 12) < 12 && complaint("talosVersion", "omni-machine/old", { name }),
  ];

function uuidComplaints({ name, spec }: CheckedMachine, { machines }: CheckContext): Found {
  const { uuid, configuration } = spec;
  if (configuration !== "omni")
    return uuid !== undefined && complaint(".uuid", "omni-machine/uuid-without", { name, configuration });
  if (uuid === undefined) return complaint(".uuid", "omni-machine/uuid-missing", { name });
  if (!uuidForm.test(uuid)) return complaint(".uuid", "omni-machine/uuid-form", { uuid });
  const other = machines.find((machine) => machine.name !== name && machine.spec.uuid === uuid);
  return other !== undefined && other.name <= name && complaint(".uuid", "omni-machine/uuid-twice", { other });
}

/** Longest value of the label `kubernetes.io/hostname`, which the kubelet sets to the node's name. */
const longest = 63;

/** Whether patches make Talos register the node with its domain; the last one that says it counts. */
function registersWithDomain({ patches }: CheckedMachine, { clusterPatches }: CheckContext): boolean {
  const said = [...clusterPatches, ...patches].map(({ config }) =>
    valueAt(config, "machine", "kubelet", "registerWithFQDN"),
  );
  return said.findLast((value) => typeof value === "boolean") === true;
}
