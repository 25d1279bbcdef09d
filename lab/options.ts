import { parseArgs } from "node:util";
import { type FixId, fixIds } from "../components/diagnosis";
import { usualTimeScale } from "./clock";

/** Options that are one of some words, the first by default. */
const choices = {
  pulumi: { of: ["lab", "host", "installed"], decides: "how much of Pulumi is the installed one" },
  machines: { of: ["emulated", "node", "real"], decides: "what the stack's machines are" },
} as const;

/** What `npm run lab` was asked to do. */
export interface LabOptions {
  /** Stack to bring up: its name, or the path of its file. */
  stack: string;
  /** Stacks that it becomes afterwards, one after the other: what is edited in a stack file, and brought up with it. */
  then: string[];
  /** Show the preview before the first update; the stacks of `then` always have theirs. */
  preview: boolean;
  /** Updates in a row; from the second on nothing may change. */
  updates: number;
  /** Files of Kubernetes objects that the cluster has before the stack comes. */
  manifests: string[];
  /** File: what machines run before the stack comes, by name. Default: a plain image. */
  image?: string;
  /** Look at the cluster in the end as `talos-gpu discover` does, and report what comes of it. */
  discover: boolean;
  /** Fixes to leave out. */
  without: FixId[];
  /** Put the left-out fixes in place afterwards. */
  repair: boolean;
  /** Machines of Omni's are in their cluster when the lab begins, and do not wait to be added to it. */
  omniMembers: boolean;
  /** File: the updates over time, drawn. `.svg`: a picture of the first; else Markdown with a Mermaid gantt of each. */
  timeline?: string;
  /** Leave the cluster running until Ctrl-C and print how to reach it. */
  keep: boolean;
  /** Print one JSON object on standard output; progress goes to standard error either way. */
  json: boolean;
  /**
   * How much of Pulumi is the installed one. `lab`: the engine; the stack's program runs in the lab's own process, which is quicker.
   * `host`: the program, too, in a process of its own and in a checkout of this repository, as Pulumi's Node host starts it.
   * `installed`: the provider plugins, too, and charts come from where the stack says.
   */
  pulumi: (typeof choices.pulumi.of)[number];
  /**
   * `emulated`: all machines. `node`: the first machine with cards has a real node behind its API, which needs Linux, root and a C
   * compiler. `real`: virtual machines that run Talos itself, which need QEMU.
   */
  machines: (typeof choices.machines.of)[number];
  /** Names of cases to try with the real node in place of a stack; empty: none. */
  cases: string[];
  /** The real node takes this computer's driver and cards, and no stand-in. */
  gpu: boolean;
  /** Cases may change settings of the card beside setting them to what they are. */
  mayChangeTheCard: boolean;
  /** File for the cases' table, as Markdown. */
  table?: string;
  /** Folder for the consoles of real machines; they are not kept without it. */
  consoles?: string;
  /** Lab seconds per second. */
  timeScale: number;
  /** Something to print instead of a run. */
  show?: "help" | "fixes" | "stacks";
}

/** Text of `--help`. */
export const usage = `npm run lab -- [options]     a GPU cluster without hardware, on this machine

  --stack NAME        stack to bring up (default rtx5070ti), or the path of a stack file; --list-stacks names them
  --then FILE         go on with another stack file, as its owner would after editing it; may be repeated
  --preview           show the preview before the first update
  --updates N         run the stack's program N times; from the second on nothing changes (default 1)
  --manifest FILE     Kubernetes objects (YAML) that the cluster has before the stack comes; may be repeated
  --image FILE        what machines run before the stack comes (YAML): extensions, kernelArgs, overlay, platform and
                      secureBoot by machine name (default: a plain image)
  --discover          in the end, write a stack of the cluster as \`talos-gpu discover\` does, and compare its plan
  --timeline FILE     draw who waited for whom, drained, rebooted, was verified and tested: Markdown, with a Mermaid gantt of
                      every update
  --without FIX       leave one fix out and see the failure it prevents; may be repeated; --list-fixes names them
  --repair            then put the left-out fixes in place, as the remedy says, and see the failure go
  --omni-members      machines of Omni's begin as members of their cluster (default: in maintenance mode, to be added)
  --keep              leave the cluster running until Ctrl-C, and print KUBECONFIG and TALOSCONFIG
  --json              one JSON object on standard output, progress on standard error
  --pulumi host       run the program as Pulumi's Node host does: in a process and a checkout of its own (default: lab)
  --pulumi installed  the same with the installed provider plugins, and with charts from their own repositories, over the
                      network; a stack with owned machines needs an administrator's rights, for the machines' addresses
  --machines node     the first machine with cards is a real node: kubelet, containerd, NVIDIA's toolkit and device plugin, with
                      a stand-in of the driver (needs Linux, root, a C compiler, iproute2; default: emulated)
  --machines real     virtual machines that run Talos itself, of the release nearest to the stack's that is built here, without
                      root (needs QEMU; minutes for each boot)
  --consoles FOLDER   with --machines real: keeps there what each machine's console said
  --gpu               with --machines node: this computer's cards and driver in place of the stand-in, and every case of a card: a
                      table of what held. It resets no card, and changes no setting of one
  --cases NAMES       with --machines node: only these cases, by name with commas between, or all; without --gpu on the stand-in
  --may-change-the-card
                      cases may set another power limit, and set it back
  --table FILE        the cases' table as Markdown, beside what is printed
  --time-scale N      lab seconds per second (default 80: a minute of a machine's reboot takes three quarters of a second;
                      with --machines node 60, as its programs take the time that they take; not with --machines real)
  --help
`;

/**
 * Options from the command line.
 *
 * @throws Error with a message for the user when an option is unknown or its value is out of range.
 */
export function parseOptions(argv: readonly string[]): LabOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      stack: { type: "string", default: "rtx5070ti" },
      then: { type: "string", multiple: true, default: [] },
      preview: { type: "boolean", default: false },
      updates: { type: "string", default: "1" },
      manifest: { type: "string", multiple: true, default: [] },
      image: { type: "string" },
      discover: { type: "boolean", default: false },
      timeline: { type: "string" },
      without: { type: "string", multiple: true, default: [] },
      repair: { type: "boolean", default: false },
      "omni-members": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      pulumi: { type: "string" },
      machines: { type: "string" },
      consoles: { type: "string" },
      gpu: { type: "boolean", default: false },
      cases: { type: "string" },
      "may-change-the-card": { type: "boolean", default: false },
      table: { type: "string" },
      "time-scale": { type: "string" },
      "list-fixes": { type: "boolean", default: false },
      "list-stacks": { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const pulumi = choice("pulumi", values.pulumi);
  const machines = choice("machines", values.machines);
  const cases = (values.cases ?? (values.gpu ? "all" : "")).split(",").filter((name) => name !== "");
  const notReal = (option: string, given: boolean, why: string): [boolean, string] => [
    machines === "real" && given,
    `--${option}: ${why}; leave it or --machines real out`,
  ];
  const refused: readonly [boolean, string][] = [
    [
      cases.length > 0 && machines !== "node",
      `${values.gpu ? "--gpu" : "--cases"}: cases of a card need a real node, and this lab has none; add --machines node`,
    ],
    [
      cases.length > 0 && pulumi === "installed",
      "--cases: its stack is none of a project's folder, which --pulumi installed needs; leave one of them out",
    ],
    [
      values.without.length > 0 && pulumi !== "lab",
      "--without: Pulumi's own way runs the stack's own program, which leaves nothing out; leave --pulumi out",
    ],
    [
      values.repair && values.then.length > 0,
      "--repair: it is an edit of its own, so --then has no place beside it; leave one of them out",
    ],
    [
      values.repair && values.without.length === 0,
      "--repair: it puts left-out fixes in place, and none is left out; give --without FIX",
    ],
    [
      values.consoles !== undefined && machines !== "real",
      "--consoles: emulated machines have no console; add --machines real, or leave it out",
    ],
    notReal("pulumi", pulumi === "installed", "the installed Talos provider asks each machine at its own address"),
    notReal("image", values.image !== undefined, "real machines begin with the plain image"),
    notReal("omni-members", values["omni-members"], "no Omni manages real machines"),
    notReal("time-scale", values["time-scale"] !== undefined, "a virtual machine takes the time that it takes"),
  ];
  for (const [applies, message] of refused) if (applies) throw new Error(message);
  const show = values.help ? "help" : values["list-fixes"] ? "fixes" : values["list-stacks"] ? "stacks" : undefined;
  return {
    stack: values.stack,
    then: values.then,
    preview: values.preview,
    updates: wholeNumber("--updates", values.updates, 1, 100),
    manifests: values.manifest,
    discover: values.discover,
    ...(values.image === undefined ? {} : { image: values.image }),
    ...(values.timeline === undefined ? {} : { timeline: values.timeline }),
    without: fixesOf(values.without),
    repair: values.repair,
    omniMembers: values["omni-members"],
    keep: values.keep,
    json: values.json,
    pulumi,
    machines,
    ...(values.consoles === undefined ? {} : { consoles: values.consoles }),
    cases,
    gpu: values.gpu,
    mayChangeTheCard: values["may-change-the-card"],
    ...(values.table === undefined ? {} : { table: values.table }),
    timeScale:
      values["time-scale"] === undefined
        ? usualTimeScale[machines]
        : wholeNumber("--time-scale", values["time-scale"], 1, 1000),
    ...(show === undefined ? {} : { show }),
  };
}

/** The word that an option has, or its first one. */
function choice<Option extends keyof typeof choices>(
  option: Option,
  word: string | undefined,
): (typeof choices)[Option]["of"][number] {
  const { of, decides } = choices[option];
  const found = word === undefined ? of[0] : of.find((each) => each === word);
  if (found === undefined)
    throw new Error(`--${option}: ${word} is unknown; it decides ${decides}; take ${of[0]}, ${of[1]} or ${of[2]}`);
  return found;
}

function fixesOf(given: readonly string[]): FixId[] {
  const ids = given.flatMap((list) => list.split(",")).filter((id) => id !== "");
  const unknown = ids.filter((id) => !(fixIds as readonly string[]).includes(id));
  if (unknown.length > 0) {
    throw new Error(
      `--without: there is no fix ${unknown.join(", ")}, so nothing would be left out; take one of ${fixIds.join(", ")}`,
    );
  }
  return ids as FixId[];
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(`${option}: ${text} is no whole number from ${min} to ${max}; give one, e.g. ${option} ${min}`);
}
