import type { Registered } from "../tests/support/recorder";
import { isOwned, nodeName } from "./cluster";
import { register } from "./programs";

/** Custom resources of a cluster: what providers make, and what a preview lists. */
export interface Resources {
  machines: number;
  /** Of one owned machine, its smoke test included. */
  owned: number;
  /** Of one adopted machine, its smoke test included. */
  adopted: number;
  /** Schematics of the whole cluster, whose machines have one image. */
  schematics: number;
  /** Whatever else the cluster has once. */
  shared: number;
}

/** Counts what the component registers. */
export async function countResources(machines: number): Promise<Resources> {
  const custom = (await register("component", machines)).resources.filter((resource) => resource.custom);
  const isSchematic = ({ type }: Registered): boolean => type === "talos:imageFactory/schematic:Schematic";
  const schematics = custom.filter(isSchematic).length;
  const rest = custom.filter((resource) => !isSchematic(resource));
  const names = Array.from({ length: machines }, (_, index) => nodeName(index));
  const perMachine = names.map((node) => rest.filter(({ name }) => name.includes(node)).length);
  const most = (owned: boolean): number => Math.max(...perMachine.filter((_, index) => isOwned(index) === owned));
  const shared = rest.length - perMachine.reduce((sum, count) => sum + count, 0);
  return { machines, owned: most(true), adopted: most(false), schematics, shared };
}
