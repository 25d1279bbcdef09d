import forbidden from "../facts/data/omni.json";
import { customizationPath, parseToml } from "../machine/containerd/containerd";
import { secretsIn } from "../machine/secrets";
import type { UserPatch } from "../machine/user-patches";
import { asText, valueAt } from "../mapping";
import { labelValue, qualifiedName, shown } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import { type Checks, findPerMachine, findPerPatch, combine } from "./check";

/** Checks of the content of patches against the stack and other patches. */
export const patchContentChecks = {
  "patch-secret": {
    rule: "Neither a patch nor `containerd.extra` contains a secret",
    source:
      "talos, RedactSecrets and Redact of the documents; patches are in plain text in the stack file, in Pulumi's state and in command lines of `talosctl`",
    ofFiles: false,
    find: combine(
      findPerPatch(({ patch }) =>
        patch.documents.map(valueOfDocument).map((value) => {
          const [secret] = secretsIn(value, asText(valueAt(value, "kind")));
          return secret
            ? {
                problem: `contains a secret (${secret.path})`,
                why: "patches are kept in plain text, in the stack file and in Pulumi's state",
                remedy: secret.remedy,
              }
            : undefined;
        }),
      ),
      findPerMachine((machine) =>
        secretsIn(parseToml(machine.spec.containerd?.extra ?? "").table, "")
          .slice(0, 1)
          .map(({ path }) => ({
            field: ".containerd.extra",
            problem: `contains a secret (${path})`,
            why: "the stack file, Pulumi's state and the machine's configuration contain it in plain text",
            remedy:
              "leave it out, and add an image pull secret to the ServiceAccount `default` in the namespace of the pods that need the registry",
          })),
      ),
    ),
  },
  "patch-sysctl": {
    rule: "No patch sets a sysctl to another value than the package needs",
    source:
      "siderolabs/extensions#101; talos, pkg/machinery/config/merge: of several values of a key the last wins",
    ofFiles: true,
    find: findPerPatch(({ patch, machines }) =>
      Object.entries(patch.sysctls).flatMap(([key, value]) => {
        const machine = machines.find(
          (candidate) =>
            candidate.recipe.sysctls[key] !== undefined && candidate.recipe.sysctls[key] !== value,
        );
        const neededValue = machine?.recipe.sysctls[key];
        return machine && neededValue !== undefined
          ? {
              problem: `sets ${key} to ${value}, but ${machine.name} needs ${neededValue}`,
              why: "no GPU container starts with your value, so the package overrides it",
              remedy: "leave it out",
              ofFiles: { why: "no GPU container starts with this value" },
            }
          : [];
      }),
    ),
  },
  "patch-node-labels": {
    rule: "No patch has a node label that the kubelet refuses, or that Kubernetes forbids a worker to set",
    source:
      "Kubernetes NodeRestriction; talos#8193; kubernetes v1.34.0, cmd/kubelet/app/options/options.go (ValidateKubeletFlags)",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      const refusedLabel = patch.kubeletLabels.find(
        ([key, value]) =>
          isForbidden(key) || (qualifiedName(key) ?? labelValue(value)) !== undefined,
      );
      if (refusedLabel !== undefined)
        return {
          problem: `node-labels has ${shown(refusedLabel.join("="))}, which the kubelet refuses`,
          why: "the kubelet exits at its start, and the machine does not become a node",
          remedy:
            "write it under machines.<name>.labels, which the stack sets through the Kubernetes API",
        };
      if (!machines.some((machine) => machine.spec.role === "worker")) return [];
      return patch.nodeLabels
        .filter(([key]) => isForbidden(key))
        .map(([key]) => ({
          problem: `sets ${key} on a worker`,
          why: "Kubernetes forbids a worker to set this label on itself, and refuses all other labels that the worker sets in the same request",
          remedy:
            "write it under machines.<name>.labels, which the stack sets through the Kubernetes API",
        }));
    }),
  },
  "patch-node-taints": {
    rule: "No patch of a worker sets node taints",
    source: "Kubernetes NodeRestriction; talos#8193, talos#10935",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      const workers = machines
        .filter((machine) => machine.spec.role === "worker")
        .map((machine) => machine.name);
      return workers.length > 0 && patch.nodeTaints.length > 0
        ? {
            problem: `sets taints on workers (${workers.join(", ")})`,
            why: "Kubernetes forbids a worker to change its own taints, and refuses all labels that the worker sets in the same request",
            remedy:
              "write them under machines.<name>.taints, which the stack sets through the Kubernetes API",
          }
        : undefined;
    }),
  },
  "machine-file-once": {
    rule: "No two items of machine.files on a machine write the same file",
    source:
      "talos, pkg/machinery/config/merge (lists are appended); v1alpha1_sequencer_tasks.go, WriteUserFiles",
    ofFiles: true,
    find: ({ machines, clusterPatches }) => {
      const repeatedInAll = repeated(clusterPatches);
      const knownPaths = new Set(repeatedInAll.map(({ path }) => path));
      const perMachine = machines.flatMap((machine) =>
        machine.patches.length > 0
          ? repeated([...clusterPatches, ...machine.patches]).filter(
              ({ path }) => !knownPaths.has(path),
            )
          : [],
      );
      return [...repeatedInAll, ...perMachine].map(({ path, fields }) => {
        const writers = [...new Set(fields)].join(" and ");
        return {
          field: fields.at(-1) ?? "patches",
          problem: `${path} is written ${fields.length} times (by ${writers})`,
          why: "patches append items to machine.files: for some paths a second item keeps the machine from booting, and for other paths Talos does not define which item wins",
          remedy: "write each file in only one patch",
        };
      });
    },
  },
  "machine-file-create": {
    rule: "Patches create files only below /var or /etc/kubernetes/manifests, and use only operations that Talos knows",
    source:
      "talos v1.13.9, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, WriteUserFiles",
    ofFiles: true,
    find: findPerPatch(({ patch }) =>
      patch.files.flatMap((file) => {
        const isWritable =
          file.path.startsWith("/var/") ||
          file.path === customizationPath ||
          manifests.test(file.path);
        const isToolkitFile = file.path === "/etc/nvidia-container-runtime/config.toml";
        if (file.op === "create" && !isWritable)
          return {
            problem: `has op: create for ${file.path}, which is outside /var`,
            why: 'Talos fails each boot with "create operation not allowed outside of /var"',
            remedy: isToolkitFile
              ? "leave it out: the toolkit's extension has its own configuration, and Talos does not need the setting `no-cgroups`"
              : "write it under /var, or overwrite a file that exists (op: overwrite)",
          };
        if (["create", "overwrite", "append"].includes(file.op)) return [];
        return {
          problem: `"${file.op}" is not an operation for ${file.path || "a file"}`,
          why: 'Talos fails the boot with "unknown operation for file", pauses for 35 minutes, reboots, and fails again',
          remedy: "write op: create, overwrite or append",
        };
      }),
    ),
  },
  "install-extensions": {
    rule: "No patch sets machine.install.extensions on Talos ≥ 1.10, which ignores this field",
    source: "talos v1.10.0, hack/release.toml: machine.install.extensions no longer has an effect",
    ofFiles: true,
    find: findPerPatch(({ patch }, context) =>
      (context.release?.version.minor ?? 0) >= 10 &&
      valueAt(patch.config, "machine", "install", "extensions") !== undefined
        ? {
            problem: `machine.install.extensions has no effect on Talos ${context.spec.talosVersion}`,
            why: "Talos ≥ 1.10 silently ignores it: the machine would run without these extensions",
            remedy:
              "list them under machines.<name>.extensions (the package itself adds NVIDIA's extensions)",
            ofFiles: {
              remedy: "list them in the image's schematic (systemExtensions.officialExtensions)",
            },
          }
        : undefined,
    ),
  },
  "install-image": {
    rule: "No patch sets the installer image, which this package sets",
    source:
      "talos, pkg/machinery/config/merge: a later scalar overwrites; machine.install.image is set by this package",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }) => {
      if (valueAt(patch.config, "machine", "install", "image") === undefined) return [];
      const problem = "sets machine.install.image";
      return machines.length > 0 && machines.every(({ spec }) => spec.configuration === "omni")
        ? {
            problem,
            why: "Omni chooses the image by the Talos version and the extensions of the machine",
            remedy: "leave it out",
          }
        : {
            problem,
            why: "this package sets the same field and overrides your value",
            remedy:
              "leave it out: the package chooses the image by talosVersion, platform and extensions. Or name your own image under machines.<name>.installerImage",
          };
    }),
  },
  "omni-patch": {
    rule: "No patch of an Omni machine has a part that Omni itself sets",
    source:
      "siderolabs/omni, client/pkg/omni/resources/omni/config_patch.go, forbiddenFields, forbiddenDocuments, forbiddenSliceElements (v1.10.4)",
    ofFiles: true,
    find: findPerPatch(({ patch, machines }) => {
      const machine = machines.find(({ spec }) => spec.configuration === "omni");
      if (machine === undefined) return [];
      return patch.documents
        .flatMap((document) => settingsOfOmni(valueOfDocument(document)))
        .map((setting) => ({
          problem: `${setting}, but Omni manages ${machine.name}`,
          why: "Omni itself sets this part of the configuration, and refuses the patch",
          remedy: "leave it out",
        }));
    }),
  },
} satisfies Checks;

/**
 * Parts of a patch's document that Omni itself sets and therefore refuses: fields, list items, or the document itself.
 * Each text is the beginning of a finding's problem, e.g. `sets machine.install.disk`.
 */
function settingsOfOmni(value: unknown): string[] {
  const statedKind = valueAt(value, "kind");
  const kind = typeof statedKind === "string" ? statedKind : undefined;
  const fieldsByKind: Record<string, string[]> = forbidden.fieldsOfDocuments;
  const fields = kind === undefined ? forbidden.fields : (fieldsByKind[kind] ?? []);
  const items = forbidden.items.filter(({ document, field, item }) => {
    const list = valueAt(value, ...field.split("."));
    return document === kind && Array.isArray(list) && list.includes(item);
  });
  return [
    ...fields
      .filter((path) => valueAt(value, ...path.split(".")) !== undefined)
      .map((path) => `sets ${path}`),
    ...items.map(({ field, item }) => `has ${item} in ${field}`),
    ...(kind !== undefined && forbidden.documents.includes(kind) ? [`is a ${kind}`] : []),
  ];
}

/**
 * Label prefixes of Kubernetes that a kubelet may set on its own node. Source: kubernetes,
 * plugin/pkg/admission/noderestriction.
 */
const allowed =
  /^(kubernetes\.io\/(hostname|arch|os)|beta\.kubernetes\.io\/(arch|os|instance-type)|node\.kubernetes\.io\/|kubelet\.kubernetes\.io\/|topology\.kubernetes\.io\/(zone|region)|failure-domain\.beta\.kubernetes\.io\/(zone|region))/;

/** Whether the admission plugin NodeRestriction keeps a worker from setting a label on its own node. */
function isForbidden(key: string): boolean {
  const domain = key.includes("/") ? (key.split("/")[0] ?? "") : "";
  const isKubernetes = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  const isRestricted = /(^|\.)node-restriction\.kubernetes\.io$/.test(domain);
  return (
    isRestricted ||
    (isKubernetes && !allowed.test(key) && !/(^|\.)(node|kubelet)\.kubernetes\.io$/.test(domain))
  );
}

/**
 * Paths of files that patches write more than once, each with the field of every patch that writes it. The file with
 * containerd's settings is left out, because other checks cover it.
 */
function repeated(patches: UserPatch[]): { path: string; fields: string[] }[] {
  const fieldsByPath = new Map<string, string[]>();
  for (const { files, field } of patches)
    for (const { path } of files)
      if (path !== "" && path !== customizationPath)
        fieldsByPath.set(path, [...(fieldsByPath.get(path) ?? []), field]);
  return [...fieldsByPath]
    .filter(([, fields]) => fields.length > 1)
    .map(([path, fields]) => ({ path, fields }));
}

const manifests = /^\/etc\/kubernetes\/manifests\//;
