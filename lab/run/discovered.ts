import { isDeepStrictEqual } from "node:util";
import { readCluster } from "../../cli/discover/look";
import { renderDiscovered, stackOf } from "../../cli/discover/stack-of";
import { parseSpec, planCluster, type Plan } from "../../components/recipe";
import { configurationOf } from "../../stacks/stack-file";
import type { Lab } from "../cluster/lab";
import { withServedImages } from "./served-images";

/** Report about the stack that `talos-gpu discover` writes for the lab's cluster. */
export interface DiscoveredReport {
  /** Sorted paths at which the plan of the stack that it writes differs from the plan of the lab's stack. */
  differingFields: string[];
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
  const observed = await readCluster(access, 60_000, () => {});
  const stack = renderDiscovered(stackOf(observed), observed.unseen, "the lab");
  // The comparison reads the file again, with the images that the lab gave the stack.
  const parsed = parseSpec(withServedImages(configurationOf(stack, "discover"), options));
  if (parsed.spec === undefined)
    throw new Error(`discover: what it wrote is not a stack: ${JSON.stringify(parsed.findings)}`);
  return {
    differingFields: differingPaths(planCluster(spec), planCluster(parsed.spec)),
    unseen: observed.unseen,
    stack,
  };
}

function differingPaths(planned: Plan, discovered: Plan): string[] {
  const paths = [
    ...differingFields("kubernetes", planned.kubernetes, discovered.kubernetes),
    ...planned.machines.flatMap((machine) =>
      differingFields(
        `machines.${machine.name}`,
        machine,
        discovered.machines.find(({ name }) => name === machine.name) ?? {},
      ),
    ),
    ...discovered.machines
      .filter(({ name }) => !planned.machines.some((machine) => machine.name === name))
      .map(({ name }) => `machines.${name}`),
  ];
  return paths.sort();
}

function differingFields(path: string, planned: object, discovered: object): string[] {
  const valueOf = (object: object, key: string): unknown =>
    (object as Record<string, unknown>)[key];
  const keys = [...new Set([...Object.keys(planned), ...Object.keys(discovered)])];
  return keys
    .filter((key) => !isDeepStrictEqual(valueOf(planned, key), valueOf(discovered, key)))
    .map((key) => `${path}.${key}`);
}
