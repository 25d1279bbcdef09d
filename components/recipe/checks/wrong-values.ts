import * as semver from "semver";
import { splits } from "../facts/sharing";
import { hasStorageModule } from "../machine/storage-module";
import { labelledByHand } from "../cluster/discovery";
import { migManagerHangs } from "../cluster/mig-manager";
import { strategiesIn } from "../cluster/plugin-release";
import { anyText, isMapping, valueAt } from "../mapping";
import { absolutePath } from "../rules";
import type { CheckContext, Found } from "./check";

/**
 * A rule about one chart value that would cause a failure, with the texts of the finding. The rule applies only if the
 * condition `when` is true or absent.
 */
export type WrongValue = {
  /** Path of the value in the stack. */
  field: string;
  when?: keyof typeof conditions;
  why: string;
} & (
  | {
      /** The only right values: a kind from `kinds`, or a list. */
      accepts: keyof typeof kinds | readonly unknown[];
      /** Default: `correct it, or leave it out`. */
      remedy?: string;
    }
  | {
      /** The wrong values: a kind from `kinds`, or one value. */
      refuses: keyof typeof kinds | boolean;
      problem: string | ((value: string) => string);
      /** Default: `leave it out`. */
      remedy?: string;
    }
);

/**
 * Findings about chart values of a stack that would cause a failure.
 *
 * @param isAsked whether to check the value at a path. Default: the function checks all rows.
 */
export const wrongValues = (
  context: CheckContext,
  rows: readonly WrongValue[],
  isAsked: (field: string) => boolean = () => true,
): Found =>
  rows.map((row): Found => {
    const { field, when, why } = row;
    const [release = "", ...valuePath] = field.split(".");
    const releaseSpec = context.spec[release as "gpuOperator"];
    const value = valueAt(releaseSpec, ...valuePath);
    if (releaseSpec === undefined || !isAsked(field)) return false;
    if (when !== undefined && !conditions[when](context)) return false;
    if ("refuses" in row) {
      const { refuses, problem, remedy = "leave it out" } = row;
      const isRefused = typeof refuses === "string" ? kinds[refuses](value) : value === refuses;
      return isRefused
        ? {
            field,
            problem: typeof problem === "string" ? problem : problem(anyText(value)),
            why,
            remedy,
          }
        : undefined;
    }
    const { accepts, remedy = "correct it, or leave it out" } = row;
    // `null` stands for the chart's own value.
    const isRight = typeof accepts === "string" ? kinds[accepts](value) : accepts.includes(value);
    if (value === undefined || value === null || isRight) return false;
    const expected =
      typeof accepts === "string"
        ? accepts
        : `${accepts.length > 1 ? "one of " : ""}${accepts.join(", ")}`;
    return { field, problem: `must be ${expected}`, why, remedy };
  });

/**
 * Folders that Talos ≥ 1.13 has, or that a pod can create. Each of them works as the driver's folder: the validator
 * first finds the link /usr/bin/nvidia-smi, and then always uses the host's driver (gpu-operator v26.3.3,
 * cmd/nvidia-validator/main.go, runValidation; siderolabs/extensions v1.13.0, nvidia-pkgs; gpu-operator#2501).
 */
const foldersOfTalos = /^\/(usr\/local|var|run)(\/|$)/;

/** Folders of Talos in which a pod can write programs that then run. /run is writable, but mounted noexec. */
const writableFolders = /^\/(var|opt)(\/|$)/;

/** Kinds of values, by their names in the rows. */
const kinds = {
  true: (value) => anyText(value) === "true",
  false: (value) => anyText(value) === "false",
  "not false": (value) => value !== false,
  "not set": (value) => value === undefined,
  "true or false": (value) => typeof value === "boolean",
  "a mapping": isMapping,
  "an absolute path": (value) => typeof value === "string" && absolutePath(value) === undefined,
  "a root without the driver": (value) => value === "/" || value === "/run/nvidia/driver",
  "a MIG manager that hangs": (value) => typeof value === "string" && migManagerHangs(value),
  "a folder that is read-only": (value) =>
    typeof value === "string" && !writableFolders.test(value),
  "a folder that Talos lacks": (value) => typeof value === "string" && !foldersOfTalos.test(value),
} satisfies Record<string, (value: unknown) => boolean>;

/** Conditions of the rows. */
const conditions = {
  "Talos ≤ 1.12": ({ plan }) => plan.injection === "legacy",
  "Talos ≥ 1.13": ({ plan }) => plan.injection !== "legacy",
  "the image has the toolkit": ({ plan }) => plan.injection !== "nri",
  "the operator brings the toolkit": ({ plan }) => plan.injection === "nri",
  "Talos ≤ 1.12, and an operator with CDI on by default": ({ spec, plan }) =>
    plan.injection === "legacy" &&
    semver.gte(semver.parse(spec.gpuOperator?.version) ?? "0.0.0", "25.10.0"),
  "deviceListStrategy selects CDI on Talos ≥ 1.13": ({ spec, plan }) =>
    plan.injection !== "legacy" &&
    strategiesIn(spec.devicePlugin?.values?.["deviceListStrategy"]).some((word) =>
      word.startsWith("cdi-"),
    ),
  "a machine's extensions lack nvidia_fs": ({ gpuMachines }) =>
    gpuMachines.some(({ recipe }) => !hasStorageModule(recipe.talosVersion)),
  "sharing.mig is set": ({ spec: { sharing } }) => sharing?.mig !== undefined,
  "sharing.mig splits the cards": ({ spec: { sharing } }) =>
    sharing?.mig !== undefined && splits(sharing.mig.profile),
  "the labels of the stack do not mark every GPU machine": ({ spec }) =>
    !labelledByHand(Object.values(spec.machines)),
} satisfies Record<string, (context: CheckContext) => boolean>;

/** Findings for values of the device plugin's chart that name a RuntimeClass or a namespace. */
export const wrongNames = ({ spec, plan, gpuMachines }: CheckContext): Found => {
  const { runtimeClassName: runtime, namespaceOverride: namespace } = (spec.devicePlugin?.values ??
    {}) as Record<string, unknown>;
  const byDefault = gpuMachines.every(
    ({ spec: { containerd } }) => containerd?.nvidiaDefaultRuntime === true,
  );
  return [
    plan.injection === "nri" && Boolean(runtime)
      ? {
          field: "devicePlugin.values.runtimeClassName",
          problem: `names a RuntimeClass on Talos ${spec.talosVersion}`,
          why: "containerd has no handler for NVIDIA's runtime on this Talos version, so the plugin's pods would not start",
          remedy: "leave it out",
        }
      : undefined,
    plan.injection !== "nri" &&
    runtime !== undefined &&
    runtime !== "nvidia" &&
    !((runtime ?? "") === "" && byDefault)
      ? {
          field: "devicePlugin.values.runtimeClassName",
          problem: "must be nvidia",
          why: "the plugin finds the driver's libraries and the cards only through the RuntimeClass nvidia. An empty value works only if all GPU machines set nvidiaDefaultRuntime",
          remedy: "correct it, or leave it out",
        }
      : undefined,
    Boolean(namespace) && namespace !== plan.kubernetes.release.namespace
      ? {
          field: "devicePlugin.values.namespaceOverride",
          problem: `must be ${plan.kubernetes.release.namespace}`,
          why: "Pod Security allows NVIDIA's pods only in the namespace of the release",
          remedy: "correct it, or leave it out",
        }
      : undefined,
  ];
};
