import { isDeepStrictEqual } from "node:util";
import { look } from "../../cli/discover/look";
import { renderDiscovered, stackOf } from "../../cli/discover/stack-of";
import { parseSpec, planCluster, type Plan } from "../../components/recipe";
import { configurationOf } from "../../stacks/stack-file";
import type { Lab } from "../cluster/lab";
import { withServedImages } from "./served-images";

/** Report about the stack that `talos-gpu discover` writes for the lab's cluster. */
export interface DiscoveredReport {
  /** Sorted paths at which the plan of the stack that it writes differs from the plan of the lab's stack. */
  unlike: string[];
  unseen: string[];
  stack: string;
}

/** Looks at the lab's cluster as a user without a stack would, and compares the plan of the resulting stack. */
export async function discoverLab({
  kubernetes,
  tools,
  session,
  spec,
  options,
}: Lab): Promise<DiscoveredReport> {
  const access = {
    kubeconfig: kubernetes.kubeconfig,
    machines: { talosctl: tools.talosctl, talosconfig: session.dir("talosconfig"), secrets: [] },
  };
  const seen = await look(access, 60_000, () => {});
  const stack = renderDiscovered(stackOf(seen), seen.unseen, "the lab");
  // The comparison reads the file again, with the images that the lab gave the stack.
  const read = parseSpec(withServedImages(configurationOf(stack, "discover"), options));
  if (read.spec === undefined)
    throw new Error(`discover: what it wrote is not a stack: ${JSON.stringify(read.findings)}`);
  return { unlike: unlike(planCluster(spec), planCluster(read.spec)), unseen: seen.unseen, stack };
}

function unlike(kept: Plan, found: Plan): string[] {
  const paths = [
    ...differing("kubernetes", kept.kubernetes, found.kubernetes),
    ...kept.machines.flatMap((machine) =>
      differing(
        `machines.${machine.name}`,
        machine,
        found.machines.find(({ name }) => name === machine.name) ?? {},
      ),
    ),
    ...found.machines
      .filter(({ name }) => !kept.machines.some((one) => one.name === name))
      .map(({ name }) => `machines.${name}`),
  ];
  return paths.sort();
}

function differing(path: string, kept: object, found: object): string[] {
  const [a, b] = [kept, found] as Record<string, unknown>[];
  const keys = [...new Set([...Object.keys(a!), ...Object.keys(b!)])];
  return keys.filter((key) => !isDeepStrictEqual(a![key], b![key])).map((key) => `${path}.${key}`);
}
