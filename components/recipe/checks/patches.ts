import { live, provider } from "../facts/data/since.json";
import { minorsOfKind, schemaMinor } from "../facts/talos-schema";
import { parseTalosVersion } from "../facts/version";
import { documentConflictsIn, remedyForConflict } from "../machine/documents/conflicts";
import { containerdOverrides, fieldOverrides } from "../machine/documents/overrides";
import { patchFindings, patchKey } from "../machine/patch-findings";
import type { UserPatch } from "../machine/user-patches";
import { isMapping, listAt, valueAt } from "../mapping";
import { intoOwnDocuments, wantedOf } from "../merge/wanted";
import { valueOfDocument } from "../rules/yaml";
import { allPatches, type CheckedMachine, type Checks, type Found, findPerPatch } from "./check";
import { type Document, isMap, visit } from "yaml";

/** Checks of patches: whether Talos accepts them. */
export const patchChecks = {
  "patch-format": {
    rule: "A patch is a strategic-merge patch in YAML",
    source:
      "siderolabs/docs, patching (JSON patches are not supported for multi-document configuration)",
    ofFiles: true,
    find: findPerPatch(({ patch }) => {
      const { flaw } = patch;
      if (!flaw) return [];
      if (flaw.kind === "json6902")
        return {
          problem: "is a JSON patch (RFC 6902)",
          why: "Talos accepts no JSON patch for a configuration of several documents",
          remedy:
            "write a strategic-merge patch, which is the changed part of the configuration, e.g. `machine: { sysctls: { … } }`",
          // Talos accepts a list of operations for a configuration of one document.
          ofFiles: false as const,
        };
      return {
        problem:
          flaw.kind === "yaml" ? `is not YAML: ${flaw.detail}` : `is ${flaw.detail}, not a mapping`,
        why: "Talos cannot merge it",
        remedy: "write, as YAML, only the part of the machine configuration that changes",
      };
    }),
  },
  "patch-identity": {
    rule: "No patch gives a machine a role or a name that differs from the stack's",
    source:
      "talos v1.13.9, internal/app/machined/pkg/controllers/k8s/nodename.go (the node has the name of its host); machine.type of the configuration",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      const statedType = valueAt(patch.config, "machine", "type");
      const type = typeof statedType === "string" ? statedType : undefined;
      const machineOfOtherRole =
        type === undefined ? undefined : machines.find(({ spec }) => spec.role !== type);
      const statedHostname = patch.hostnames[0];
      const otherNamedMachine =
        statedHostname === undefined
          ? undefined
          : machines.find(({ name }) => shortName(name) !== shortName(statedHostname));
      return [
        type !== undefined && machineOfOtherRole !== undefined
          ? {
              problem: `sets machine.type to ${type}, and ${machineOfOtherRole.name} is a ${machineOfOtherRole.spec.role}`,
              why: "the machine would join the cluster in the wrong role, or not at all",
              remedy: "leave it out, and set the machine's field `role`",
            }
          : undefined,
        statedHostname !== undefined && otherNamedMachine !== undefined
          ? {
              problem: `sets the host name ${statedHostname}, but the stack names the machine ${otherNamedMachine.name}`,
              why: "Talos names the node by its host name, so the update would wait forever for the node",
              remedy:
                "in the stack, name the machine by its host name, or leave the host name out of the patch",
            }
          : undefined,
      ];
    }),
  },
  "patch-schema": {
    rule: "The Talos version accepts the fields and values of each patch",
    source:
      "siderolabs/talos, pkg/machinery/config: the decoder's structures, schemas/config.schema.json and Validate",
    ofFiles: true,
    find: (context) =>
      allPatches(context)
        .filter(({ patch }) => patch.flaw === undefined)
        .flatMap(({ patch, machines }) => {
          // A patch of the cluster also reaches machines with their own release, so each machine's release is checked.
          const releases = new Map<string, string | undefined>([
            [context.spec.talosVersion, undefined],
          ]);
          for (const { name, spec } of machines)
            if (spec.talosVersion !== undefined && !releases.has(spec.talosVersion))
              releases.set(spec.talosVersion, name);
          const reportedProblems = new Set<string>();
          return [...releases].flatMap(([release, machine]) => {
            const version = parseTalosVersion(release);
            const talos = machine === undefined ? "Talos" : `Talos ${release} on ${machine}`;
            if (!version) return [];
            return patchFindings(patch.documents, schemaMinor(version.minor))
              .map(({ path, problem, remedy }) => ({
                field: patch.field,
                problem: `${path} ${problem}`.trimStart(),
                why: `${talos} refuses the whole configuration, or does not finish its boot`,
                remedy,
              }))
              .filter(
                ({ problem }) => !reportedProblems.has(problem) && reportedProblems.add(problem),
              );
          });
        }),
  },
  "patch-role": {
    rule: "No patch of a worker sets a field that only control planes may have",
    source:
      "siderolabs/talos v1.13.0, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go (Validate)",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      const worker = machines.find(({ spec }) => spec.role === "worker");
      if (worker === undefined || patch.flaw !== undefined) return [];
      const documents = patch.documents.map(valueOfDocument);
      return ofControlPlanes
        .filter(([, isIn]) => documents.some(isIn))
        .map(([path]) => ({
          problem: `sets ${path}, and ${worker.name} is a worker`,
          why: "Talos allows it only on control planes, and refuses the worker's whole configuration",
          remedy: "write it in a patch of the control planes (machines.<name>.patches)",
        }));
    }),
  },
  "patch-document": {
    rule: "No patch of an owned machine has a document that the Talos provider cannot merge",
    source:
      "pulumi-talos v0.8.1 merges with Talos' machinery v1.13.0, which does not know the documents of 1.14",
    ofFiles: true,
    find: findPerPatch(({ patch, machines }, context) => {
      const owned = machines
        .filter((machine) => machine.spec.configuration === "owned")
        .map((machine) => machine.name);
      // On an older Talos the check patch-schema reports the document.
      if (
        owned.length === 0 ||
        (context.release?.version.minor ?? provider.minor + 1) <= provider.minor
      )
        return [];
      return patch.kinds
        .filter((kind) => (minorsOfKind(kind)?.[0] ?? 0) > provider.minor)
        .map((kind) => ({
          problem: `has a ${kind}, but the stack owns ${owned.join(", ")}`,
          why: 'the Talos provider of Pulumi merges patches with the code of Talos 1.13, which fails at this document with "not registered"',
          remedy:
            "write the settings under `machine` or `cluster`, e.g. machine.sysctls or cluster.scheduler, which Talos 1.14 still accepts",
        }));
    }),
  },
  "patch-conflict": {
    rule: "No field of a patch sets the same thing as a document, and no document has a name that Talos reserves",
    source:
      "talos v1.14.1, pkg/machinery/config/types, every V1Alpha1ConflictValidate; types/cri/customization.go (the reserved name)",
    ofFiles: false,
    find: (context) => [
      ...allPatches(context).flatMap(({ patch }) => reservedNames(patch)),
      ...context.machines.flatMap((machine) =>
        conflicts(machine, [...context.clusterPatches, ...machine.patches]),
      ),
    ],
  },
  "patch-override": {
    rule: "No setting of a patch is overridden by another document of the same configuration",
    source:
      "talos v1.14.1, pkg/machinery/config/container/container.go (SysctlConfig, SysfsConfig, UdevRulesConfig, KernelModuleConfigs) and internal/app/machined/pkg/controllers/files/cri_config.go; seen on Talos v1.14.1",
    ofFiles: false,
    find: (context) => {
      if ((context.release?.version.minor ?? live.everythingFrom) < live.everythingFrom) return []; // no such documents
      return context.machines.flatMap((machine) => {
        const patches = [...context.clusterPatches, ...machine.patches].filter(
          ({ flaw }) => flaw === undefined,
        );
        const wantedEntries = wantedOf(patches.map(({ text }) => text));
        const overrides = [
          ...fieldOverrides(wantedEntries),
          ...containerdOverrides(wantedEntries, machine.recipe.containerdPart),
        ];
        return overrides.map((override) => {
          const [kind = ""] = [override.wins, override.loses].flatMap(
            (location) => /^[A-Z]\w+/.exec(location)?.[0] ?? [],
          );
          const field =
            patches.findLast((patch) => patch.kinds.includes(kind))?.field ??
            `${machine.field}.patches`;
          return {
            field,
            problem: `${override.wins} and ${override.loses} of ${machine.name} both set ${override.key}`,
            why: `Talos silently uses ${override.wins}, and ignores the value in ${override.loses}`,
            remedy: "set it in only one of the two",
          };
        });
      });
    },
  },
  "patch-delete": {
    rule: "No patch of an adopted machine deletes a part of the configuration",
    source:
      "siderolabs/docs, patching (`$patch: delete`); a merge into an adopted configuration only adds, so that the package can undo it",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      const adopted = machines.find((machine) => machine.spec.configuration === "adopted");
      return adopted !== undefined && patch.documents.some(deletes)
        ? {
            problem: `has \`$patch: delete\`, but ${adopted.name} is adopted`,
            why: "another tool owns the configuration, and this package could not restore a deleted part",
            remedy: "delete the part with the tool that owns the configuration",
          }
        : undefined;
    }),
  },
} satisfies Checks;

/**
 * A host name without its domain, because Talos leaves the domain out of the node's name (talos,
 * controllers/k8s/nodename.go).
 */
const shortName = (name: string): string => name.split(".")[0]!.toLowerCase();

/**
 * Settings that only a control plane may have, each with a function that tells whether a document contains the setting.
 */
const ofControlPlanes: [path: string, isThere: (document: unknown) => boolean][] = [
  ["cluster.etcd", (document) => isMapping(valueAt(document, "cluster", "etcd"))],
  [
    "machine.network.interfaces[].vip",
    (document) => devicesOf(document).some((device) => isMapping(device["vip"])),
  ],
  [
    "machine.features.kubernetesTalosAPIAccess",
    (document) =>
      valueAt(document, "machine", "features", "kubernetesTalosAPIAccess", "enabled") === true,
  ],
];

/** Interfaces and their VLANs. */
const devicesOf = (document: unknown): Record<string, unknown>[] =>
  listAt(document, "machine", "network", "interfaces").flatMap((device) => [
    device,
    ...listAt(device, "vlans"),
  ]);

/**
 * Name that Talos 1.14 reserves for the containerd settings of `machine.files` among the CRICustomizationConfig
 * documents.
 */
const reserved = "customization";

const reservedNames = ({ field, documents }: UserPatch): Found =>
  documents
    .filter(
      (document) =>
        document.get("kind") === "CRICustomizationConfig" && document.get("name") === reserved,
    )
    .map(() => ({
      field,
      problem: `has a CRICustomizationConfig with the name ${reserved}`,
      why: "Talos reserves this name for the containerd part of machine.files, and refuses the configuration",
      remedy:
        "give the document another name, or write its settings under machines.<name>.containerd",
    }));

/**
 * Findings for a machine's patches that set the same thing twice: in a separate document and in a field of `machine` or
 * `cluster`. On an adopted machine the command `adopt` moves the field into the document if the document can hold its
 * value. Then there is no conflict.
 */
function conflicts(machine: CheckedMachine, patches: UserPatch[]): Found {
  const wantedEntries = wantedOf(
    patches.filter(({ flaw }) => flaw === undefined).map(({ text }) => text),
  );
  if (machine.spec.configuration === "adopted")
    intoOwnDocuments(wantedEntries, (kind) => wantedEntries.has(kind));
  return documentConflictsIn(wantedEntries).flatMap(({ document, fields }) => {
    const [kind] = document.split("/");
    const remedy = remedyForConflict({ document, fields });
    return patches
      .filter((patch) => patch.kinds.includes(kind!))
      .map((patch) => ({
        field: patch.field,
        problem: `has a ${document}, and a patch of ${machine.name} also sets ${fields.join(", ")}`,
        why: "both set the same thing, so Talos refuses the configuration",
        remedy,
      }));
  });
}

/** Whether a document has a `$patch: delete`, in any style of YAML. */
function deletes(document: Document): boolean {
  let hasDelete = false;
  visit(document, {
    Map(_, map) {
      if (isMap(map) && map.has(patchKey)) hasDelete = true;
      return hasDelete ? visit.BREAK : undefined;
    },
  });
  return hasDelete;
}
