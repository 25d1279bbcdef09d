import { live } from "../facts/data/since.json";
import { minorsOfKind, schemaMinor } from "../facts/talos-schema";
import { parseTalosVersion } from "../facts/version";
import { documentConflictsIn, formOf } from "../machine/documents/conflicts";
import { containerdOverrides, fieldOverrides } from "../machine/documents/overrides";
import { patchFlaws, patchKey } from "../machine/patch-flaws";
import type { UserPatch } from "../machine/user-patches";
import { isMapping, listAt, valueAt } from "../mapping";
import { intoOwnDocuments, wantedOf } from "../merge/wanted";
import { valueOfDocument } from "../rules/yaml";
import { allPatches, type CheckedMachine, type Checks, complaint, fault, type Found, ofPatches } from "./check";
import { type Document, isMap, visit } from "yaml";

/** Patches as Talos takes them. */
export const patchChecks: Checks = {
  "patch-format": ofPatches(({ patch }) => {
    const { flaw } = patch;
    if (!flaw) return [];
    if (flaw.kind === "json6902") return fault("patch-format/json");
    return fault(flaw.kind === "yaml" ? "patch-format/yaml" : "patch-format/shape", { flaw });
  }),
  "patch-identity": ofPatches(({ patch, machines }) => {
    const type = valueAt(patch.config, "machine", "type");
    const other = typeof type === "string" ? machines.find(({ spec }) => spec.role !== type) : undefined;
    const named = patch.hostnames[0];
    const misnamed =
      named === undefined ? undefined : machines.find(({ name }) => shortName(name) !== shortName(named));
    return [
      other !== undefined && fault("patch-identity/role", { type, other }),
      misnamed !== undefined && fault("patch-identity/host", { named, misnamed }),
    ];
  }),
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
          const talos = machine === undefined ? "Talos" : `Talos ${release} of ${machine}`;
          if (!version) return [];
          return patchFlaws(patch.documents, schemaMinor(version.minor))
            .map(({ path, problem, remedy }) =>
              complaint(patch.field, "patch-schema", { what: `${path} ${problem}`.trimStart(), talos, remedy }),
            )
            .filter(({ problem }) => !told.has(problem) && told.add(problem));
        });
      }),
  "patch-role": ofPatches(({ patch, machines }) => {
    const worker = machines.find(({ spec }) => spec.role === "worker");
    if (worker === undefined || patch.flaw !== undefined) return [];
    const documents = patch.documents.map(valueOfDocument);
    return ofControlPlanes
      .filter(([, isThere]) => documents.some(isThere))
      .map(([path]) => fault("patch-role", { path, worker }));
  }),
  "patch-document": ofPatches(({ patch, machines }, context) => {
    const owned = machines.filter((machine) => machine.spec.configuration === "owned").map((machine) => machine.name);
    // On an older Talos the check of the schema says it.
    if (owned.length === 0 || (context.release?.version.minor ?? providerMinor + 1) <= providerMinor) return [];
    return patch.kinds
      .filter((kind) => (minorsOfKind(kind)?.[0] ?? 0) > providerMinor)
      .map((kind) => fault("patch-document", { kind, owned }));
  }),
  "patch-conflict": (context) => [
    ...allPatches(context).flatMap(({ patch }) => reservedNames(patch)),
    ...context.machines.flatMap((machine) => conflicts(machine, [...context.clusterPatches, ...machine.patches])),
  ],
  "patch-override": (context) => {
    if ((context.release?.version.minor ?? live.everythingFrom) < live.everythingFrom) return []; // no such documents
    return context.machines.flatMap((machine) => {
      const patches = [...context.clusterPatches, ...machine.patches].filter(({ flaw }) => flaw === undefined);
      const wanted = wantedOf(patches.map(({ text }) => text));
      const overrides = [...fieldOverrides(wanted), ...containerdOverrides(wanted, machine.recipe.containerdPart)];
      return overrides.map((override) => {
        const [kind = ""] = [override.wins, override.loses].flatMap((words) => /^[A-Z]\w+/.exec(words)?.[0] ?? []);
        const field = patches.findLast((patch) => patch.kinds.includes(kind))?.field ?? `${machine.field}.patches`;
        return complaint(field, "patch-override", { override, machine });
      });
    });
  },
  "patch-delete": ofPatches(({ patch, machines }) => {
    const adopted = machines.find((machine) => machine.spec.configuration === "adopted");
    return adopted !== undefined && patch.documents.some(deletes) && fault("patch-delete", { adopted });
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
const devicesOf = (document: unknown): Record<string, unknown>[] =>
  listAt(document, "machine", "network", "interfaces").flatMap((one) => [one, ...listAt(one, "vlans")]);

/** Minor of the machinery in the Talos provider that owned machines' patches are merged with. */
const providerMinor = 13;

/** What containerd's part of old is called among the documents of Talos 1.14. */
const reserved = "customization";

const reservedNames = ({ field, documents }: UserPatch): Found =>
  documents
    .filter((document) => document.get("kind") === "CRICustomizationConfig" && document.get("name") === reserved)
    .map(() => complaint(field, "patch-conflict/name", { reserved }));

/** A field of a patch beside a document of a patch. Of an adopted machine's, `adopt` moves those that have a place there. */
function conflicts(machine: CheckedMachine, patches: UserPatch[]): Found {
  const wanted = wantedOf(patches.filter(({ flaw }) => flaw === undefined).map(({ text }) => text));
  if (machine.spec.configuration === "adopted") intoOwnDocuments(wanted, (kind) => wanted.has(kind));
  return documentConflictsIn(wanted).flatMap(({ document, fields }) => {
    const [kind] = document.split("/");
    const forms = fields.map((field) => formOf(document, field)).join(", ");
    return patches
      .filter((patch) => patch.kinds.includes(kind!))
      .map((patch) =>
        complaint(patch.field, "patch-conflict/both", { kind: document, beside: fields, machine, forms }),
      );
  });
}

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
