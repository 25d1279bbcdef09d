import { injectionOf } from "../facts/talos-release";
import { envOf } from "../cluster/values";
import { sharingOf } from "../machine/own-sharing";
import { valueAt } from "../mapping";
import { type External, externalOf, type OwnValues, ownValuesOf } from "../external/external";
import { filledPaths } from "../external/filled-in";
import type { ClusterSpec, ExternalSpec } from "../spec/index";
import type { Checks, Find, Found } from "./check";

/**
 * Checks of an external release: facts that this package does not know, and tasks for the user who installs the
 * release.
 */
export const externalRisks = {
  "external-release": {
    severity: "note",
    rule: "The stack itself installs the GPU provider",
    source: "components/recipe/external/external.ts: fields of a stack about an external release",
    ofFiles: false,
    find: ifExternal(({ externalProvider: { assumesNamespace, release } }) => {
      const namespaceText = assumesNamespace ? "" : ` in namespace ${release.namespace}`;
      return {
        field: "external",
        problem: `another tool manages ${release.chart}${namespaceText}`,
        why: "this stack creates, changes and removes no object of that release",
        remedy: "nothing needs to be done",
      };
    }),
  },
  "external-missing": {
    severity: "warning",
    rule: "Each object that a file of external.files names is in one of these files",
    source:
      "components/recipe/external/read.ts: the objects that these files name, and those that are missing",
    ofFiles: false,
    find: ifExternal(({ external }) =>
      external.read?.missing?.map(({ kind, name }) => ({
        field: "external.files",
        problem: `${kind} ${name} is not among the files`,
        why: "its content is unknown and not checked",
        remedy: "add the file that contains this object",
      })),
    ),
  },
  "external-namespace": {
    severity: "warning",
    rule: "The namespace of the external release is known",
    source: "Flux: Kustomization, targetNamespace; kustomize: namespace",
    ofFiles: false,
    find: ifExternal(({ externalProvider: { assumesNamespace, release } }) =>
      assumesNamespace
        ? {
            field: "external.namespace",
            problem: `no file sets the namespace of the release, so the plan assumes ${release.namespace}`,
            why: "`talos-gpu doctor` has to search the whole cluster for the release",
            remedy:
              "write the namespace here, or list under external.files the file that sets the namespace (a Flux Kustomization's targetNamespace, a kustomization's namespace)",
          }
        : undefined,
    ),
  },
  "external-filled-in": {
    severity: "note",
    rule: "The values of the external release have no placeholders that another tool fills in",
    source:
      "fluxcd.io, Kustomization, postBuild; templates of Helm, helmfile and minijinja; SOPS, 1Password and Vault",
    ofFiles: false,
    find: ifExternal(({ externalProvider: { release } }) =>
      filledPaths(release.values).map((path) => ({
        field: `external.values.${path}`,
        problem: "has a placeholder that another tool fills in",
        why: "its final value is unknown and not checked",
        remedy: "check the final value yourself",
      })),
    ),
  },
  "external-values": {
    severity: "warning",
    rule: "The values of the external release are known",
    source: "components/recipe/external/external.ts: fields of a stack about an external release",
    ofFiles: false,
    find: ifExternal(({ ownValues }) =>
      ownValues?.values === undefined
        ? {
            field: "external.values",
            problem: "are unknown",
            why: "no check can verify that the release fits Talos",
            remedy: "list the files of the release under external.files",
          }
        : undefined,
    ),
  },
  "external-version": {
    severity: "warning",
    rule: "The chart version of the external release is known",
    source: "values.yaml and templates of each release of the chart",
    ofFiles: false,
    find: ifExternal(({ ownValues, externalProvider: { release } }) =>
      ownValues?.values !== undefined && release.version === ""
        ? {
            field: "external.version",
            problem: "the release's chart version is unknown",
            why: "no check can verify that the chart has these values",
            remedy: "write the chart's version here",
          }
        : undefined,
    ),
  },
  "char-device-links": {
    severity: "warning",
    rule: "On Talos ≥ 1.13 the values of an external operator set DISABLE_DEV_CHAR_SYMLINK_CREATION to true",
    source: "cozystack#2323; siderolabs/docs, NVIDIA GPU (sets DISABLE_DEV_CHAR_SYMLINK_CREATION)",
    ofFiles: false,
    find: ifExternal(({ ownValues, externalProvider: { kind }, spec }) =>
      kind === "gpuOperator" &&
      ownValues?.values !== undefined &&
      !ownValues.partly &&
      injectionOf(spec.talosVersion) !== "legacy" &&
      envOf(
        valueAt(ownValues.values, "validator", "driver", "env"),
        "DISABLE_DEV_CHAR_SYMLINK_CREATION",
      ) !== "true"
        ? {
            field: "external.values.validator.driver.env",
            problem: "does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true",
            why: "if the operator's validator cannot create links in /dev/char, the validator never becomes ready, and all other pods of the operator wait for it",
            remedy: "set this variable to true, as Talos' documentation does",
          }
        : undefined,
    ),
  },
  "plugin-runtime": {
    severity: "warning",
    rule: "Before Talos 1.15 the values of an external or taken-over device plugin set runtimeClassName",
    source:
      "siderolabs/docs, NVIDIA GPU: the plugin's own container must see the cards, so it needs NVIDIA's runtime",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const ownValues = ownValuesOf(spec);
      return ownValues?.kind === "devicePlugin" &&
        injectionOf(spec.talosVersion) !== "nri" &&
        ownValues.values !== undefined &&
        !ownValues.partly &&
        (valueAt(ownValues.values, "runtimeClassName") ?? "") === ""
        ? {
            field: `${ownValues.field}.values.runtimeClassName`,
            problem: "is not set",
            why: "without a RuntimeClass the plugin finds the cards only if nvidia is the machine's default runtime",
            remedy:
              "write `runtimeClassName: nvidia`, and create a RuntimeClass of that name with the handler nvidia",
          }
        : undefined;
    },
  },
  "sharing-unread": {
    severity: "note",
    rule: "The stack contains the configuration by which the device plugin shares the cards",
    source: "k8s-device-plugin v0.19.3, api/config/v1/sharing.go; values.yaml, config.name",
    ofFiles: false,
    find: ({ spec, plan }) =>
      Object.values(spec.machines).some(
        (machine) => machine.gpus?.length && sharingOf(plan.spec, machine)?.unread,
      )
        ? {
            field: plan.spec.external
              ? "external.values"
              : spec.devicePlugin
                ? "devicePlugin.values.config"
                : "gpuOperator.values.devicePlugin.config",
            problem: "with this configuration it is unknown how many GPUs a node offers",
            why: "the plan assumes at least one nvidia.com/gpu per card, so no check can verify that all requests fit",
            remedy: "look at the nodes' allocatable resources (`kubectl describe node`)",
          }
        : undefined,
  },
} satisfies Checks;

/** Inputs of a check of an external release. */
interface ExternalCase {
  spec: ClusterSpec;
  external: ExternalSpec;
  externalProvider: External;
  ownValues: OwnValues | undefined;
}

/** Makes a check of the external release. The check finds nothing if the stack has no external release. */
function ifExternal(find: (externalCase: ExternalCase) => Found): Find {
  return ({ plan: { spec } }) => {
    const externalProvider = externalOf(spec);
    if (spec.external === undefined || externalProvider === undefined) return [];
    return find({
      spec,
      external: spec.external,
      externalProvider,
      ownValues: ownValuesOf(spec),
    });
  };
}
