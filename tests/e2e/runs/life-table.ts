import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { MachineReport } from "../../../lab/run/report";
import { repository } from "../../../stacks/stack-file";

/** An edit of a stack that is up. */
export interface LifeEdit {
  name: string;
  /** What it does to the stack's configuration, as a JSON merge patch. */
  change: object;
  /** A text of the kubeconfig, and what takes its place. */
  kubeconfig?: [string, string];
  /** Pattern of what the preview of taking it back is refused with, where that cannot be done; the edit then stays. */
  stays?: string;
  /** Patterns of what its preview is refused with and, without one, its update, where it cannot be done; nothing is lost by either. */
  refused?: { preview: string; update: string };
  /** Where the preview may say `only if`, as only the machine knows; elsewhere it has to know. */
  onlyIf?: boolean;
  /** Whether no machine may reboot, whatever the preview says. */
  quiet?: boolean;
  /** Whether nothing may be made, or made again. */
  inPlace?: boolean;
  /** Edits on top of it, before it is taken back. */
  then?: LifeEdit[];
}

/** A lab, and what is edited on it, one after the other. */
export interface Life {
  /** All that the cluster has: a stack of tests/e2e/stacks. */
  stack: string;
  /** A JSON merge patch that takes from it what the stack does not have at first. */
  first?: object;
  /** What its machines are like before the first edit. Default: not looked at. */
  machines?: Record<string, Partial<MachineReport>>;
  edits: LifeEdit[];
  /** Options of the lab, besides its stack. Default none. */
  options?: string[];
  /** Whether somebody then deletes by hand, and `--refresh`, `reconcileToken` and `--replace` follow. */
  byHand?: boolean;
}

const folder = path.join(repository, "tests/e2e/stacks");

/** File of a stack. */
export const fileOf = (stack: string): string => path.join(folder, `Pulumi.${stack}.yaml`);

/** The table of edits. */
export const lives = parse(fs.readFileSync(path.join(folder, "lives.yaml"), "utf8")) as Record<
  string,
  Life
>;
