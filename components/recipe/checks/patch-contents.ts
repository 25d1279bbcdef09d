import forbidden from "../facts/data/omni.json";
import { customizationPath, parseToml } from "../machine/containerd/containerd";
import { secretsIn } from "../machine/secrets";
import type { UserPatch } from "../machine/user-patches";
import { asText, valueAt } from "../mapping";
import { labelValue, qualifiedName, shown } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import { type Checks, complaint, fault, ofMachines, ofPatches, together } from "./check";

/** What patches say, beside what the stack and others say. */
export const patchContentChecks: Checks = {
  "patch-secret": together(
    ofPatches(({ patch }) =>
      patch.documents.map(valueOfDocument).map((value) => {
        const [secret] = secretsIn(value, asText(valueAt(value, "kind")));
        return secret && fault("patch-secret/patch", { secret });
      }),
    ),
    ofMachines((machine) =>
      secretsIn(parseToml(machine.spec.containerd?.extra ?? "").table, "")
        .slice(0, 1)
        .map(({ path }) => complaint(".containerd.extra", "patch-secret/containerd", { path })),
    ),
  ),
  "patch-sysctl": ofPatches(({ patch, machines }) =>
    Object.entries(patch.sysctls).flatMap(([key, value]) => {
      const machine = machines.find(
        (candidate) => candidate.recipe.sysctls[key] !== undefined && candidate.recipe.sysctls[key] !== value,
      );
      const needed = machine?.recipe.sysctls[key];
      return machine ? fault("patch-sysctl", { key, value, machine, needed }) : [];
    }),
  ),
  "patch-node-labels": ofPatches(({ patch, machines }) => {
    const refused = patch.kubeletLabels.find(
      ([key, value]) => isForbidden(key) || (qualifiedName(key) ?? labelValue(value)) !== undefined,
    );
    if (refused !== undefined) return fault("patch-node-labels/refused", { refused: shown(refused.join("=")) });
    if (!machines.some((machine) => machine.spec.role === "worker")) return [];
    return patch.nodeLabels
      .filter(([key]) => isForbidden(key))
      .map(([key]) => fault("patch-node-labels/worker", { key }));
  }),
  "patch-node-taints": ofPatches(({ patch, machines }) => {
    const workers = machines.filter((machine) => machine.spec.role === "worker").map((machine) => machine.name);
    return workers.length > 0 && patch.nodeTaints.length > 0 && fault("patch-node-taints", { workers });
  }),
  "machine-file-once": ({ machines, clusterPatches }) => {
    const everywhere = repeated(clusterPatches);
    const known = new Set(everywhere.map(({ path }) => path));
    const perMachine = machines.flatMap((machine) =>
      machine.patches.length > 0
        ? repeated([...clusterPatches, ...machine.patches]).filter(({ path }) => !known.has(path))
        : [],
    );
    return [...everywhere, ...perMachine].map(({ path, fields }) => {
      const by = [...new Set(fields)].join(" and ");
      return complaint(fields.at(-1) ?? "patches", "machine-file-once", { path, count: fields.length, by });
    });
  },
  "machine-file-create": ofPatches(({ patch }) =>
    patch.files.flatMap((file) => {
      const isFree = file.path.startsWith("/var/") || file.path === customizationPath || manifests.test(file.path);
      const isToolkits = file.path === "/etc/nvidia-container-runtime/config.toml";
      if (file.op === "create" && !isFree)
        return fault(isToolkits ? "machine-file-create/toolkit" : "machine-file-create/outside", { file });
      if (["create", "overwrite", "append"].includes(file.op)) return [];
      return fault("machine-file-create/operation", { op: file.op, file: file.path || "a file" });
    }),
  ),
  "install-extensions": ofPatches(
    ({ patch }, context) =>
      (context.release?.version.minor ?? 0) >= 10 &&
      valueAt(patch.config, "machine", "install", "extensions") !== undefined &&
      fault("install-extensions", { spec: context.spec }),
  ),
  "install-image": ofPatches(
    ({ patch }) => valueAt(patch.config, "machine", "install", "image") !== undefined && fault("install-image"),
  ),
  "omni-patch": ofPatches(({ patch, machines }) => {
    const machine = machines.find(({ spec }) => spec.configuration === "omni");
    if (machine === undefined) return [];
    return patch.documents
      .flatMap((document) => keptByOmni(valueOfDocument(document)))
      .map((does) => fault("omni-patch", { does, machine }));
  }),
};

/** What a document of a patch does that Omni refuses in each patch: fields, items of lists, and the document itself. */
function keptByOmni(value: unknown): string[] {
  const said = valueAt(value, "kind");
  const kind = typeof said === "string" ? said : undefined;
  const ofDocuments: Record<string, string[]> = forbidden.fieldsOfDocuments;
  const fields = kind === undefined ? forbidden.fields : (ofDocuments[kind] ?? []);
  const items = forbidden.items.filter(({ document, field, item }) => {
    const list = valueAt(value, ...field.split("."));
    return document === kind && Array.isArray(list) && list.includes(item);
  });
  return [
    ...fields.filter((path) => valueAt(value, ...path.split(".")) !== undefined).map((path) => `sets ${path}`),
    ...items.map(({ field, item }) => `has ${item} in ${field}`),
    ...(kind !== undefined && forbidden.documents.includes(kind) ? [`is a ${kind}`] : []),
  ];
}

/** Label prefixes of Kubernetes that a kubelet may set on its own node. Source: kubernetes, plugin/pkg/admission/noderestriction. */
const allowed =
  /^(kubernetes\.io\/(hostname|arch|os)|beta\.kubernetes\.io\/(arch|os|instance-type)|node\.kubernetes\.io\/|kubelet\.kubernetes\.io\/|topology\.kubernetes\.io\/(zone|region)|failure-domain\.beta\.kubernetes\.io\/(zone|region))/;

/** Whether NodeRestriction keeps a worker from setting a label on its node. */
function isForbidden(key: string): boolean {
  const domain = key.includes("/") ? (key.split("/")[0] ?? "") : "";
  const isKubernetes = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  const isRestricted = /(^|\.)node-restriction\.kubernetes\.io$/.test(domain);
  return isRestricted || (isKubernetes && !allowed.test(key) && !/(^|\.)(node|kubelet)\.kubernetes\.io$/.test(domain));
}

/** Paths that patches write more than once, with the last patch that does. The containerd part has checks of its own. */
function repeated(patches: UserPatch[]): { path: string; fields: string[] }[] {
  const fieldsByPath = new Map<string, string[]>();
  for (const { files, field } of patches)
    for (const { path } of files)
      if (path !== "" && path !== customizationPath) fieldsByPath.set(path, [...(fieldsByPath.get(path) ?? []), field]);
  return [...fieldsByPath].filter(([, fields]) => fields.length > 1).map(([path, fields]) => ({ path, fields }));
}

const manifests = /^\/etc\/kubernetes\/manifests\//;
