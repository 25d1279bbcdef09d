import { parseArgs } from "node:util";
import { swallowedByNpm } from "../cli/swallowed";
import { type FixId, fixIds } from "../components/diagnosis";
import { usualTimeScale } from "./clock";

/** Values of the options that accept one of several words. The first is the default; the others have a help text. */
const choices = {
  /**
   * Which parts of Pulumi are the installed ones. `lab`: only the engine; the stack's program runs in the lab's
   * process, which is quicker.
   */
  pulumi: {
    lab: "",
    host: `run the program as Pulumi's Node host does: in a process and a checkout of its own (default: lab)`,
    installed: `the same with the installed provider plugins, and with charts from their own repositories, over the
network; a stack with owned machines needs an administrator's rights, for the machines' addresses`,
    own: `with --keep: no stack; prints the variables for your own Pulumi program (also: --pulumi without a word)`,
  },
  /** Kind of the stack's machines. */
  machines: {
    emulated: "",
    node: `the first machine with cards is a real node: kubelet, containerd, NVIDIA's toolkit and device plugin, with
a stand-in of the driver (needs Linux, root, a C compiler, iproute2; default: emulated)`,
    real: `virtual machines that run Talos itself, with the release nearest to the stack's that the lab can build
(needs QEMU, not root; minutes for each boot)`,
  },
};

const flag = (help = "") => ({ type: "boolean", default: false, help }) as const;
const textOption = (value: string, help: string) => ({ type: "string", value, help }) as const;
const listOption = (value: string, help: string) =>
  ({ ...textOption(value, help), multiple: true, default: [] as string[] }) as const;

/** Every option in the form of `parseArgs`, with the name of its value and its help. */
const table = {
  stack: textOption(
    "NAME",
    "stack to bring up (default rtx5070ti), or the path of a stack file; --list-stacks names them",
  ),
  then: listOption(
    "FILE",
    "then update with this stack file, as if the user had edited the first one; may be repeated",
  ),
  preview: flag("show the preview before the first update"),
  updates: textOption(
    "N",
    "run the stack's program N times; the second and later runs must change nothing (default 1)",
  ),
  manifest: listOption(
    "FILE",
    "Kubernetes objects (YAML) that the cluster has before the first update; may be repeated",
  ),
  image: textOption(
    "FILE",
    "images of the machines before the first update (YAML): extensions, kernelArgs, overlay, platform and\nsecureBoot by machine name (default: a plain image)",
  ),
  discover: flag(
    "at the end, write a stack file as `talos-gpu discover` does, and compare its plan",
  ),
  without: listOption(
    "FIX",
    "leave one fix out and see the failure it prevents; may be repeated; --list-fixes names them",
  ),
  repair: flag(
    "with --without: then apply the remedy, which restores the fix, and check that the failure disappears",
  ),
  "omni-members": flag(
    "machines that Omni manages begin as members of their cluster (default: in maintenance mode, to be added)",
  ),
  keep: flag("leave the cluster running until Ctrl-C, and print the variables for its tools"),
  verbose: flag("print each event on a separate line (default: a terminal shows one moving line)"),
  json: flag("one JSON object on standard output, progress on standard error"),
  pulumi: textOption("", ""),
  program: textOption(
    "FOLDER",
    "with --pulumi own: folder of your program (default: the current folder)",
  ),
  machines: textOption("", ""),
  consoles: textOption(
    "FOLDER",
    "with --machines real: folder in which to keep the machines' console logs",
  ),
  card: textOption(
    "DEVICE",
    "with --machines real: a card of this computer in QEMU's form (vfio-pci,host=0000:01:00.0), for a stack of one\nmachine; the lab then downloads the published images. Not tested with a card yet",
  ),
  gpu: flag(
    "with --machines node: use this computer's cards and driver instead of the stand-in, and run every case for cards;\nprints a table of the results. It resets no card and changes no setting of a card",
  ),
  cases: textOption(
    "NAMES",
    "with --machines node: run only these cases (names separated by commas, or all); without --gpu they use the stand-in",
  ),
  "may-change-the-card": flag("cases may change the power limit, and restore it"),
  table: textOption("FILE", "also write the table of the cases to this file, as Markdown"),
  "time-scale": textOption(
    "N",
    "lab seconds per second (default 80: a minute of a machine's reboot takes three quarters of a second;\nwith --machines node 60, because its programs run in real time; not with --machines real)",
  ),
  "list-fixes": flag(),
  "list-stacks": flag(),
  help: { ...flag(), short: "h" },
} as const;

/** `--pulumi` without a word is for the user's own program. */
const withImpliedOwn = (argv: readonly string[]): string[] =>
  argv.map((argument, position) => {
    const next = argv[position + 1];
    return argument === "--pulumi" && (next === undefined || next.startsWith("-"))
      ? `${argument}=own`
      : argument;
  });

const parseValues = (argv: readonly string[]) =>
  parseArgs({ args: withImpliedOwn(argv), options: table }).values;
type ParsedValues = ReturnType<typeof parseValues>;

/** Options of `npm run lab`, by their names. */
export interface LabOptions extends Omit<
  ParsedValues,
  "stack" | "updates" | "without" | "cases" | keyof typeof choices
> {
  stack: string;
  updates: number;
  without: FixId[];
  pulumi: keyof typeof choices.pulumi;
  machines: keyof typeof choices.machines;
  /** Names of cases to run on the real node instead of a stack; empty for a stack. */
  cases: string[];
  timeScale: number;
  /** Text to print instead of a run. */
  show: "help" | "fixes" | "stacks" | undefined;
}

/** Text of `--help`. */
export function usage(): string {
  const margin = " ".repeat(22);
  const line = (option: string, help: string): string => {
    const label = `  --${option}`;
    return (
      (label.length < 21 ? label.padEnd(22) : `${label}\n${margin}`) +
      help.replaceAll("\n", `\n${margin}`)
    ).trimEnd();
  };
  const lines = Object.entries(table).flatMap(([name, option]) => {
    if (name === "pulumi" || name === "machines")
      return Object.entries(choices[name]).flatMap(([word, help]) =>
        help === "" ? [] : [line(`${name} ${word}`, help)],
      );
    if (option.help === "" && name !== "help") return [];
    return [line("value" in option ? `${name} ${option.value}` : name, option.help)];
  });
  return `npm run lab -- [options]     a GPU cluster without hardware, on this machine\n\n${lines.join("\n")}\n`;
}

/**
 * Output of `--keep`: the variables with which a second terminal uses the cluster. They include the lab's talosctl,
 * which is not on PATH.
 */
export const accessInstructions = ({
  kubeconfig,
  talosconfig,
  talosctl,
}: Record<"kubeconfig" | "talosconfig" | "talosctl", string>) =>
  `The cluster runs until Ctrl-C. In another terminal:

  export KUBECONFIG=${kubeconfig}
  export TALOSCONFIG=${talosconfig}
  export TALOS_GPU_TALOSCTL=${talosctl}
`;

/**
 * Options from the command line.
 *
 * @throws Error with a message for the user when an option is unknown or its value is out of range.
 */
export function parseOptions(argv: readonly string[], environment = process.env): LabOptions {
  const swallowed = swallowedByNpm(Object.keys(table), argv, environment);
  if (swallowed !== undefined) throw new Error(swallowed);
  const values = parseValues(argv);
  const pulumi = choice("pulumi", values.pulumi);
  const machines = choice("machines", values.machines);
  const cases = (values.cases ?? (values.gpu ? "all" : ""))
    .split(",")
    .filter((name) => name !== "");
  const notForRealMachines = (option: string, reason: string): string =>
    `--${option}: ${reason}; leave out this option or --machines real`;
  /** The message if the condition holds. */
  const conflicts = {
    [`${values.gpu ? "--gpu" : "--cases"}: cases of a card need a real node, and this lab has none; add --machines node`]:
      cases.length > 0 && machines !== "node",
    "--cases: the stack of the cases is in no project's folder, which --pulumi installed needs; leave out one of these options":
      cases.length > 0 && pulumi === "installed",
    "--pulumi: a program of your own needs a cluster that stays; add --keep":
      pulumi === "own" && !values.keep,
    "--program: this option is only for your own program; add --keep --pulumi own, or leave out --program":
      values.program !== undefined && pulumi !== "own",
    "--pulumi: cases use the lab's own stack, so the lab does not run your program; leave out --cases or --pulumi":
      cases.length > 0 && pulumi === "own",
    "--without: with --pulumi the lab runs the stack's own program, which cannot leave out a fix; leave out --pulumi":
      values.without.length > 0 && pulumi !== "lab",
    "--repair: it already edits the stack, so it excludes --then; leave out one of these options":
      values.repair && values.then.length > 0,
    "--repair: it restores fixes that --without left out, and none was left out; give --without FIX":
      values.repair && values.without.length === 0,
    "--card: only a virtual machine can use the card; add --machines real, or leave out --card":
      values.card !== undefined && machines !== "real",
    "--consoles: emulated machines have no console; add --machines real, or leave out --consoles":
      values.consoles !== undefined && machines !== "real",
    [notForRealMachines(
      "pulumi",
      "the installed Talos provider connects to each machine at its own address",
    )]: machines === "real" && pulumi === "installed",
    [notForRealMachines("image", "real machines begin with the plain image")]:
      machines === "real" && values.image !== undefined,
    [notForRealMachines("omni-members", "no Omni manages real machines")]:
      machines === "real" && values["omni-members"],
    [notForRealMachines("time-scale", "a virtual machine runs in real time")]:
      machines === "real" && values["time-scale"] !== undefined,
  };
  for (const [message, applies] of Object.entries(conflicts)) if (applies) throw new Error(message);
  const timeScale = values["time-scale"];
  return {
    ...values,
    stack: values.stack ?? "rtx5070ti",
    pulumi,
    machines,
    cases,
    without: fixesOf(values.without),
    updates: wholeNumber("--updates", values.updates ?? "1", 1, 100),
    timeScale:
      timeScale === undefined
        ? usualTimeScale[machines]
        : wholeNumber("--time-scale", timeScale, 1, 1000),
    show: values.help
      ? "help"
      : values["list-fixes"]
        ? "fixes"
        : values["list-stacks"]
          ? "stacks"
          : undefined,
  };
}

/** The given word of an option, or its default. */
function choice<Option extends keyof typeof choices>(option: Option, word: string | undefined) {
  const allowedWords = Object.keys(choices[option]) as (keyof (typeof choices)[Option])[];
  const chosen =
    word === undefined ? allowedWords[0] : allowedWords.find((allowedWord) => allowedWord === word);
  if (chosen !== undefined) return chosen;
  throw new Error(
    `--${option}: ${word} is not a known value; write ${allowedWords.join(", ").replace(/, (?=\w+$)/, " or ")}`,
  );
}

function fixesOf(list: readonly string[]): FixId[] {
  const ids = list.flatMap((idList) => idList.split(",")).filter((id) => id !== "");
  const unknown = ids.filter((id) => !(fixIds as readonly string[]).includes(id));
  if (unknown.length > 0) {
    throw new Error(
      `--without: there is no fix ${unknown.join(", ")}, so nothing would be left out; write one of ${fixIds.join(", ")}`,
    );
  }
  return ids as FixId[];
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw new Error(
    `${option}: ${text} is not a whole number from ${min} to ${max}; give one, e.g. ${option} ${min}`,
  );
}
