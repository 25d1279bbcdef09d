import { platforms } from "../facts/data/since.json";
import { parseTalosVersion } from "../facts/version";
import { valueAt } from "../mapping";
import {
  canonicalAddress,
  didYouMean,
  machineAddress as addressRule,
  objectName,
  shown,
} from "../rules";
import type { ClusterSpec } from "../spec/index";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  findPerMachine,
  combine,
} from "./check";

/** Checks of a machine's address and name, and of the fields that `owned` and `omni` machines need. */
export const machineChecks = {
  "owned-machine": {
    rule: "A stack with an owned machine sets clusterName, clusterEndpoint and kubernetesVersion",
    source:
      "pulumi-talos v0.8.1, talos:machine/getConfiguration (required: clusterName, clusterEndpoint, machineSecrets)",
    ofFiles: true,
    find: ({ spec, machines }) => {
      const owned = machines
        .filter((machine) => machine.spec.configuration === "owned")
        .map((machine) => machine.name);
      if (owned.length === 0) return [];
      const requiredFields = {
        clusterName: "home",
        clusterEndpoint: "https://10.0.10.10:6443",
        kubernetesVersion: "v1.35.0",
      };
      return Object.entries(requiredFields)
        .filter(([field]) => spec[field as keyof typeof requiredFields] === undefined)
        .map(([field, example]) => ({
          field,
          problem: `is missing, and the stack owns ${owned.join(", ")}`,
          why: "this stack generates the whole configuration of an owned machine, which needs this field",
          remedy: `add it, e.g. \`${example}\`, or set the machine to \`configuration: adopted\``,
        }));
    },
  },
  "omni-machine": {
    rule: "Each Omni machine has its own UUID, a cluster name and Talos ≥ 1.12, and sets no field whose value Omni decides. Other machines have no UUID",
    source:
      "siderolabs/omni, client/pkg/omni/resources/omni/labels.go (cluster, cluster-machine); internal/backend/grpc/router/talos_backend.go (reading files from Talos 1.12 on); kernel_args.go",
    ofFiles: true,
    find: combine(
      findPerMachine(uuidFindings),
      ({ spec, machines }) => omniFindings(spec, machines.find(isOmnis)?.name),
      findPerMachine(
        (machine) =>
          isOmnis(machine) &&
          decidedByOmni
            .filter((field) => machine.spec[field] !== undefined)
            .map((field) => ({
              field: `.${field}`,
              problem: `is set, but Omni manages ${machine.name}`,
              why: "Omni builds the image from the machine's boot medium and Omni's KernelArgs resources, so this field would have no effect",
              remedy:
                field === "kernelArgs"
                  ? "leave it out, and create a KernelArgs resource with the machine's ID in Omni"
                  : "leave it out",
            })),
      ),
    ),
  },
  bootstrap: {
    rule: "With bootstrap, every machine is owned and at least one is a control plane",
    source:
      "siderolabs/docs, getting-started: secrets, configurations, `talosctl bootstrap` on one control plane",
    ofFiles: true,
    find: combine(
      findPerMachine(({ spec: { configuration } }, { spec }) =>
        spec.bootstrap === true && configuration !== "owned"
          ? {
              field: ".configuration",
              problem: `is ${configuration}, but the stack bootstraps its cluster`,
              why: "a machine in maintenance mode has no configuration yet, so this stack must generate all of it",
              remedy:
                "write `configuration: owned`, or leave `bootstrap` out if the machine already runs",
            }
          : undefined,
      ),
      ({ spec, machines }) =>
        spec.bootstrap === true && !machines.some((machine) => machine.spec.role === "controlplane")
          ? {
              field: "bootstrap",
              problem: "is set, but no machine of the stack is a control plane",
              why: "etcd and the Kubernetes API run on control planes",
              remedy:
                "give a machine `role: controlplane`, or leave `bootstrap` out if the cluster already exists",
            }
          : undefined,
    ),
  },
  "machine-name": {
    rule: "A machine's name is a valid node name, and equals the name under which Talos registers the node",
    source:
      "Kubernetes, node names are RFC 1123 subdomains; pkg/kubelet/kubelet_node_status.go (label kubernetes.io/hostname); talos v1.13.9, internal/app/machined/pkg/controllers/k8s/nodename.go",
    ofFiles: false,
    find: findPerMachine((machine, context) => {
      const { field, name } = machine;
      if (objectName(name) !== undefined || name.length > longest)
        return {
          field,
          problem: `${shown(name)} cannot be the name of a node`,
          why: "the key of a machine in the stack must be its node's name",
          remedy: `write the name that \`kubectl get nodes\` prints: at most ${longest} lower-case letters, digits, \`-\` and \`.\``,
        };
      if (
        machine.spec.configuration !== "owned" ||
        !name.includes(".") ||
        registersWithDomain(machine, context)
      )
        return [];
      const shortHostname = name.split(".")[0]!;
      return {
        field,
        problem: `${shown(name)} has a domain, but Talos names the node ${shortHostname}`,
        why: "Talos leaves the host's domain out of the node's name, so the update would wait forever for the node",
        remedy: `name the machine ${shortHostname}, or add a patch with \`machine: {kubelet: {registerWithFQDN: true}}\``,
      };
    }),
  },
  "machine-address": {
    rule: "Each machine has a valid address that no other machine has",
    source:
      "talosctl, --nodes: one Talos API per address; RFC 1123, RFC 4291, IANA's special-purpose address registries",
    ofFiles: false,
    find: ({ machines }) => {
      const machineByAddress = new Map<string, string>();
      return machines.map(({ field, name, spec: { address } }) => {
        const finding = addressRule(address);
        if (finding) return { field: `${field}.address`, ...finding };
        const canonical = canonicalAddress(address);
        const otherMachine = machineByAddress.get(canonical);
        machineByAddress.set(canonical, otherMachine ?? name);
        return otherMachine !== undefined
          ? {
              field: `${field}.address`,
              problem: `${address} is also the address of ${otherMachine}`,
              why: "the update would configure, upgrade and reboot one machine twice at the same time",
              remedy: "give each machine its own address",
            }
          : undefined;
      });
    },
  },
  platform: {
    rule: "The Image Factory has the platform of each machine",
    source: "talos, pkg/machinery/platforms; image-factory, docs/api.md",
    ofFiles: true,
    find: findPerMachine((machine) => {
      const name = machine.spec.platform;
      if (name === undefined || platforms.names.includes(name)) return [];
      return {
        field: ".platform",
        problem: `"${name}" is not a platform of the Image Factory`,
        why: "there is no installer image of that name",
        remedy: `${didYouMean(name, platforms.names)}write one of ${platforms.names.join(", ")}`,
      };
    }),
  },
} satisfies Checks;

/** A UUID as Omni writes it: the machine's SMBIOS UUID in lower case. */
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * A cluster's name in Omni. Source: siderolabs/omni, client/pkg/omni/resources/omni/cluster.go (ClusterValidator,
 * validateID).
 */
const clusterForm = /^[\p{L}\p{Nd}_-]+$/u;

/** Fields that have no effect on a machine that Omni manages, because Omni itself decides these properties. */
const decidedByOmni = [
  "platform",
  "secureBoot",
  "kernelArgs",
  "overlay",
  "customization",
  "installerImage",
] as const;

const isOmnis = ({ spec }: CheckedMachine): boolean => spec.configuration === "omni";

/** Findings about a stack with a machine that Omni manages. */
const omniFindings = (
  { clusterName, talosVersion }: ClusterSpec,
  name: string | undefined,
): Found =>
  name !== undefined && [
    clusterName === undefined
      ? {
          field: "clusterName",
          problem: `is missing, but Omni manages ${name}`,
          why: "in Omni each patch has a label with the name of its cluster",
          remedy: "add it as `omnictl get clusters` prints it, e.g. `frank`",
        }
      : undefined,
    clusterName !== undefined && !clusterForm.test(clusterName)
      ? {
          field: "clusterName",
          problem: `${shown(clusterName)} cannot be the name of a cluster in Omni`,
          why: "Omni accepts only letters, digits, dashes and underscores in a cluster's name, so no cluster has this name",
          remedy: "write it as `omnictl get clusters` prints it, e.g. `frank`",
        }
      : undefined,
    (parseTalosVersion(talosVersion)?.minor ?? 12) < 12
      ? {
          field: "talosVersion",
          problem: `is older than v1.12, but Omni manages ${name}`,
          why: "with older releases Omni gives no access to a machine's files, so the update could verify neither driver nor configuration",
          remedy: "use v1.12.0 or newer",
        }
      : undefined,
  ];

const takeItsId =
  "write the ID that `omnictl get machines` shows, e.g. `ce4d0d52-6c10-bdc9-746c-88aedd67681b`";

function uuidFindings({ name, spec }: CheckedMachine, { machines }: CheckContext): Found {
  const { uuid, configuration } = spec;
  if (configuration !== "omni")
    return uuid !== undefined
      ? {
          field: ".uuid",
          problem: `is set, but ${name} is ${configuration}`,
          why: "only Omni uses this ID, so it would have no effect",
          remedy: "leave it out, or write `configuration: omni`",
        }
      : undefined;
  if (uuid === undefined)
    return {
      field: ".uuid",
      problem: `is missing, but Omni manages ${name}`,
      why: "Omni identifies a machine by its UUID, and without it the patch would apply to the whole cluster",
      remedy: takeItsId,
    };
  if (!uuidForm.test(uuid))
    return {
      field: ".uuid",
      problem: `"${uuid}" is not a UUID in lower case`,
      why: "Omni writes UUIDs in lower case, so it would find no machine with this UUID",
      remedy: takeItsId,
    };
  const otherMachine = machines.find(
    (machine) => machine.name !== name && machine.spec.uuid === uuid,
  );
  return otherMachine !== undefined && otherMachine.name <= name
    ? {
        field: ".uuid",
        problem: `is also the UUID of ${otherMachine.name}`,
        why: "Omni would apply the patches of both machines to one machine, and write its containerd part twice",
        remedy: takeItsId,
      }
    : undefined;
}

/** Longest value of the label `kubernetes.io/hostname`, which the kubelet sets to the node's name. */
const longest = 63;

/**
 * Whether patches make the kubelet register the node under its full domain name (`registerWithFQDN`). The last patch
 * that sets this field wins.
 */
function registersWithDomain(
  { patches }: CheckedMachine,
  { clusterPatches }: CheckContext,
): boolean {
  const values = [...clusterPatches, ...patches].map(({ config }) =>
    valueAt(config, "machine", "kubelet", "registerWithFQDN"),
  );
  return values.findLast((value) => typeof value === "boolean") === true;
}
