import { documentConflicts } from "../facts/data/since.json";
import { minorsOfKind, schemaMinor } from "../facts/talos-schema";
import { parseTalosVersion } from "../facts/version";
import { patchFlaws, patchKey } from "../machine/patch-flaws";
import type { UserPatch } from "../machine/user-patches";
import { isMapping, valueAt } from "../mapping";
import { mainDocument } from "../merge/documents";
import { intoOwnDocuments, wantedOf } from "../merge/wanted";
import { valueOfDocument } from "../rules/yaml";
import { allPatches, type CheckedMachine, type Checks, type Found, ofPatches } from "./check";
import { type Document, isMap, visit } from "yaml";

/** Patches as Talos takes them. */
export const patchChecks: Checks = {
  /**
   * A patch is a strategic-merge patch in YAML. Source: siderolabs/docs, patching (JSON patches are not supported for multi-document
   * configuration).
   */
  "patch-format": ofPatches(({ patch }) => {
    const { flaw } = patch;
    if (!flaw) return [];
    if (flaw.kind === "json6902")
      return {
        problem: "is a JSON patch (RFC 6902)",
        why: "Talos takes none for a configuration of several documents",
        remedy:
          "write a strategic-merge patch: the part of the configuration itself, e.g. `machine: { sysctls: { … } }`",
      };
    return {
      problem: flaw.kind === "yaml" ? `is not YAML: ${flaw.detail}` : `is ${flaw.detail}, not a mapping`,
      why: "Talos cannot merge it",
      remedy: "write the part of the machine configuration that shall change, as YAML",
    };
  }),
  /**
   * No patch gives a machine another role or another name. Source: talos v1.13.9, internal/app/machined/pkg/controllers/k8s/nodename.go
   * (the node is called by its host); machine.type of the configuration.
   */
  "patch-identity": ofPatches(({ patch, machines }) => {
    const type = valueAt(patch.config, "machine", "type");
    const other = typeof type === "string" ? machines.find(({ spec }) => spec.role !== type) : undefined;
    const named = patch.hostnames[0];
    const misnamed =
      named === undefined ? undefined : machines.find(({ name }) => shortName(name) !== shortName(named));
    return [
      other !== undefined && {
        problem: `sets machine.type to ${String(type)}, and ${other.name} is a ${other.spec.role}`,
        why: "a machine that changes its role joins the cluster as something else, or not at all",
        remedy: "leave it out, and write the machine's role",
      },
      misnamed !== undefined && {
        problem: `names the host ${named}, and the stack calls the machine ${misnamed.name}`,
        why: "the node is called by its host, so the update would wait for a node that never comes",
        remedy: "call the machine by its host name, or leave it out",
      },
    ];
  }),
  /**
   * A patch has the fields and values that its Talos release takes. Source: siderolabs/talos, pkg/machinery/config: the decoder's
   * structures, schemas/config.schema.json and Validate.
   */
  "patch-schema": (context) =>
    allPatches(context)
      .filter(({ patch }) => patch.flaw === undefined)
      .flatMap(({ patch, machines }) => {
        // A patch of the cluster reaches machines that have a release of their own, too: each is judged by its own.
        const releases = new Map<string, string | undefined>([[context.spec.talosVersion, undefined]]);
        for (const { name, spec } of machines)
          if (spec.talosVersion !== undefined && !releases.has(spec.talosVersion))
            releases.set(spec.talosVersion, name);
        const told = new Set<string>();
        return [...releases].flatMap(([release, machine]) => {
          const version = parseTalosVersion(release);
          if (!version) return [];
          return patchFlaws(patch.documents, schemaMinor(version.minor))
            .map(({ path, problem, remedy }) => ({
              field: patch.field,
              problem: path === "" ? problem : `${path} ${problem}`,
              why:
                machine === undefined
                  ? "Talos refuses the whole configuration, or does not finish its boot"
                  : `Talos ${release} of ${machine} refuses the whole configuration, or does not finish its boot`,
              remedy,
            }))
            .filter(({ problem }) => !told.has(problem) && told.add(problem));
        });
      }),
  /**
   * What only control planes may have is in no worker's patch. Source: siderolabs/talos v1.13.0,
   * pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go (Validate).
   */
  "patch-role": ofPatches(({ patch, machines }) => {
    const worker = machines.find(({ spec }) => spec.role === "worker");
    if (worker === undefined || patch.flaw !== undefined) return [];
    const documents = patch.documents.map(valueOfDocument);
    return ofControlPlanes
      .filter(([, isThere]) => documents.some(isThere))
      .map(([path]) => ({
        problem: `sets ${path}, and ${worker.name} is a worker`,
        why: "only control planes may have it: Talos refuses the worker's whole configuration",
        remedy: "write it in a patch of the control planes (machines.<name>.patches)",
      }));
  }),
  /**
   * Owned machines get no document that the Talos provider cannot merge. Source: pulumi-talos v0.8.1 merges with Talos' machinery
   * v1.13.0, which does not know the documents of 1.14.
   */
  "patch-document": ofPatches(({ patch, machines }, context) => {
    const owned = machines.filter((machine) => machine.spec.configuration === "owned").map((machine) => machine.name);
    // On an older Talos the check of the schema says it.
    if (owned.length === 0 || (context.release?.version.minor ?? providerMinor + 1) <= providerMinor) return [];
    return patch.kinds
      .filter((kind) => (minorsOfKind(kind)?.[0] ?? 0) > providerMinor)
      .map((kind) => ({
        problem: `is a ${kind}, and ${owned.join(", ")} ${owned.length === 1 ? "is" : "are"} owned`,
        why: "the Talos provider merges patches with the machinery of 1.13 and refuses it: not registered",
        remedy: "write it under machine, e.g. machine.kernel.modules or machine.sysctls, which 1.14 still takes",
      }));
  }),
  /**
   * No patch has a document beside the fields that Talos refuses with it. Source: talos v1.14.0-rc.1, pkg/machinery/config/types, every
   * V1Alpha1ConflictValidate; types/cri/customization.go (the reserved name).
   */
  "patch-conflict": (context) => [
    ...allPatches(context).flatMap(({ patch }) => reservedNames(patch)),
    ...context.machines.flatMap((machine) => conflicts(machine, [...context.clusterPatches, ...machine.patches])),
  ],
  /**
   * Nothing is deleted from somebody else's configuration. Source: siderolabs/docs, patching (`$patch: delete`); merging into an adopted
   * configuration only adds, so that it can be taken back.
   */
  "patch-delete": ofPatches(({ patch, machines }) => {
    const adopted = machines.filter((machine) => machine.spec.configuration === "adopted");
    if (adopted.length === 0 || !patch.documents.some(deletes)) return [];
    return {
      problem: `deletes ($patch), and ${adopted[0]?.name} is adopted`,
      why: "this package only merges into a configuration of somebody else's: it could not bring back what a patch deleted",
      remedy: "delete it where the configuration is made",
    };
  }),
};

/** A host name without its domain, which is no part of the node's name (talos, controllers/k8s/nodename.go). */
const shortName = (name: string): string => name.split(".")[0]!.toLowerCase();

/** What only a control plane may have, and whether a document has it. */
const ofControlPlanes: [path: string, isThere: (document: unknown) => boolean][] = [
  ["cluster.etcd", (document) => isMapping(valueAt(document, "cluster", "etcd"))],
  ["machine.network.interfaces[].vip", (document) => devicesOf(document).some((device) => isMapping(device["vip"]))],
  [
    "machine.features.kubernetesTalosAPIAccess",
    (document) => valueAt(document, "machine", "features", "kubernetesTalosAPIAccess", "enabled") === true,
  ],
];

/** Interfaces and their VLANs. */
function devicesOf(document: unknown): Record<string, unknown>[] {
  const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isMapping) : []);
  return list(valueAt(document, "machine", "network", "interfaces")).flatMap((one) => [one, ...list(one["vlans"])]);
}

/** Minor of the machinery in the Talos provider that owned machines' patches are merged with. */
const providerMinor = 13;

/** What containerd's part of old is called among the documents of Talos 1.14. */
const reserved = "customization";

function reservedNames({ field, documents }: UserPatch): Found {
  return documents
    .filter((document) => document.get("kind") === "CRICustomizationConfig" && document.get("name") === reserved)
    .map(() => ({
      field,
      problem: `has a CRICustomizationConfig of the name ${reserved}`,
      why: "Talos keeps the name for the part that machine.files has, and refuses the configuration",
      remedy: "give it another name, or say it under machines.<name>.containerd",
    }));
}

const conflicting = new Map<string, string[]>(Object.entries(documentConflicts.fields));

/** A field of a patch beside a document of a patch. Of an adopted machine's, `adopt` moves those that have a place there. */
function conflicts(machine: CheckedMachine, patches: UserPatch[]): Found {
  const wanted = wantedOf(patches.filter(({ flaw }) => flaw === undefined).map(({ text }) => text));
  if (machine.spec.configuration === "adopted") intoOwnDocuments(wanted, (kind) => wanted.has(kind));
  const main = wanted.get(mainDocument);
  return patches.flatMap((patch) =>
    patch.kinds.flatMap((kind) => {
      const fields = conflicting.get(kind) ?? [];
      const beside = fields.filter((field) => isSet(valueAt(main, ...field.split("."))));
      if (beside.length === 0) return [];
      return {
        field: patch.field,
        problem: `has a ${kind}, and ${beside.join(", ")} is set by a patch of ${machine.name} as well`,
        why: "Talos takes one of the two, and refuses a configuration with both",
        remedy: `say it in the ${kind} alone, or leave that out`,
      };
    }),
  );
}

/** Talos takes a field that holds nothing for one that is not there. */
const isSet = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  value !== "" &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0);

/** Whether something in a document is deleted, in whatever style it is written. */
function deletes(document: Document): boolean {
  let found = false;
  visit(document, {
    Map(_, map) {
      if (isMap(map) && map.has(patchKey)) found = true;
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}
