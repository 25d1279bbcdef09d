import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** What a stack must come to. */
interface Expected {
  machines: Record<
    string,
    { talosVersion: string; driverVersion: string | null; gpus?: string; taints?: string[] }
  >;
  workloads: string[];
  /** Of what the machines have `gpus`. Default `nvidia.com/gpu`. */
  of?: string;
  /** An edit of its workloads afterwards, which no machine notices: a file of `stacks/`, and what then runs. */
  then?: { stack: string; workloads: string[] };
  /** Where the plan of what `talos-gpu discover` writes of the cluster is another one: what cannot be seen in a cluster. */
  unseen?: string[];
  /** Patterns of what the preview by Pulumi's own host foretells of a machine: its program runs in a checkout and a process of its own. Default: in the lab's process. */
  byHost?: Record<string, string>;
  /** All its machines are emulated, also where a real node can be. Default false. */
  emulated?: boolean;
  /** Patterns of what the lab says, in this order, beside all else. */
  says?: string[];
}

/** What each stack must come to, by its name. */
export const expected = parse(
  fs.readFileSync(path.join(__dirname, "../stacks/expected.yaml"), "utf8"),
) as Readonly<Record<string, Expected>>;
