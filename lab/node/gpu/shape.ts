import type { GpuSpec } from "../../../components/recipe";

/** What a case needs of the stack, beside what all have. */
export interface Shape {
  /** Time slices of each card. Default: whole cards. */
  slices?: number;
  /** The device plugin hands devices out by a variable that the RuntimeClass's runtime reads. Default: as the recipe says. */
  envvar?: boolean;
  watts?: number;
  /** Cards are claimed: NVIDIA's DRA driver is in the place of the device plugin. */
  claims?: boolean;
  /** The marker files of the GPU Operator's legacy recipe. */
  markers?: boolean;
}

/** Name of the stack. */
export const stackName = "card";
/** Name of the node, which is the stack's one machine. */
export const nodeName = "gpu";

/** Talos 1.13 with the toolkit and the driver that the node's programs are of, see `lab/tools/catalogue.yaml`. */
const talosVersion = "v1.13.4";
const pluginVersion = "0.19.3";
const draVersion = "0.5.0";

/** Configuration of a stack of that shape: one machine with the cards, its owner's own, and NVIDIA's device plugin or DRA driver. */
export function stackOf(gpus: readonly GpuSpec[], shape: Shape): Record<string, unknown> {
  const { slices, envvar, watts, claims } = shape;
  // Feature discovery from the beginning: Helm installs its subchart's kinds with a release, never with an upgrade of one.
  const values = { gfd: { enabled: true }, ...(envvar ? { deviceListStrategy: "envvar" } : {}) };
  return {
    talosVersion,
    machines: {
      [nodeName]: {
        address: "192.0.2.80",
        role: "worker",
        configuration: "adopted",
        gpus,
        ...(watts === undefined ? {} : { powerLimit: watts }),
      },
    },
    ...(claims ? { dra: { version: draVersion } } : { devicePlugin: { version: pluginVersion, values } }),
    ...(slices === undefined ? {} : { sharing: { timeSlicing: { replicas: slices } } }),
  };
}
