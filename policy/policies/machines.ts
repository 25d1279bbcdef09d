import { parseAllDocuments } from "yaml";
import type { Resource } from "./policy";

/** Task of the machine program, with its verb. */
export interface Task {
  verb: string;
  /** Node name of the machine, if the verb is about one machine. */
  machine?: string;
  role?: string;
  /** Kernel modules that must be loaded; on a GPU machine NVIDIA's. */
  modules?: string[];
  patches?: string[];
  /** For Omni: patches and extensions. */
  resources?: { spec?: { data?: string } }[];
  /** For the gate: the smoke tests that it waits for. */
  tests?: { machine: string; job: string }[];
}

/**
 * The task of a resource that runs the package's machine program; undefined for any other resource. If a preview does
 * not know the task yet, only the verb is set.
 */
export function taskOf({ type, props }: Resource): Task | undefined {
  if (type !== "command:local:Command" || typeof props["create"] !== "string") return undefined;
  const verb = /talos-gpu\/bin\/program\.js.* -- ([a-z-]+)$/.exec(props["create"])?.[1];
  if (verb === undefined) return undefined;
  const stdin: unknown = props["stdin"];
  if (typeof stdin !== "string") return { verb };
  try {
    return { ...(JSON.parse(stdin) as object), verb };
  } catch {
    return { verb };
  }
}

/** A machine, and the patches that a resource gives it. */
export function patchesOf(resource: Resource): { machine: string; patches: string[] } | undefined {
  if (resource.type === "talos:machine/configurationApply:ConfigurationApply") {
    const { node, configPatches = [] } = resource.props as {
      node?: string;
      configPatches?: string[];
    };
    return node === undefined ? undefined : { machine: node, patches: configPatches };
  }
  const task = taskOf(resource);
  if (task?.machine === undefined || !/^(?:adopt|omni-apply)$/.test(task.verb)) return undefined;
  const omni = (task.resources ?? []).flatMap(({ spec }) => spec?.data ?? []);
  return { machine: task.machine, patches: [...(task.patches ?? []), ...omni] };
}

/** Paths of the files that a patch writes; empty if the patch is not YAML. */
export function filesOf(patch: string): string[] {
  return parseAllDocuments(patch).flatMap((document) => {
    const data: unknown = document.errors.length > 0 ? undefined : document.toJS();
    const files = (data as { machine?: { files?: { path?: string }[] } } | null | undefined)
      ?.machine?.files;
    return Array.isArray(files) ? files.flatMap(({ path }) => path ?? []) : [];
  });
}
