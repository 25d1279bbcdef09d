import * as path from "node:path";
import { withExternal } from "../../components/lookups/external-files";
import { type Finding, judge } from "../../components/recipe/index";
import { configurationOf, stackNameOf, textOf } from "../../stacks/stack-file";
import { neededStack, placesOf, stackFileOf, stackHelp } from "../stack";
import { type Verb, valueOf } from "../verb";
import { compare, type Side } from "./comparison";
import { type FilesInGit, filesInGit } from "./files-in-git";
import { pageOf, refusalOf } from "./page";
import { refusalOnScreen, screenOf } from "./screen";

/** `talos-gpu plan`: says on paper what an update does. */
export const plan: Verb = {
  summary:
    "says offline what an update of a stack does: what reboots and why, what changes, in which order",
  options: {
    stack: { value: "NAME", help: `the stack, ${stackHelp}` },
    base: {
      value: "REF",
      help: "compare with the stack file of this commit, branch or tag (default: with nothing)",
    },
    markdown: { help: "Markdown, also in a terminal" },
    at: {
      value: "REF",
      help: "plan the stack file of this commit, branch or tag, e.g. a pull request's (default: the file as it lies here)",
    },
  },
  more: `In a terminal it prints tables that fit; into a pipe or a file, or with --markdown, Markdown for a pull request.
Reads only files and git: no network, no credentials. Of the commits that --base and --at name it takes the stack file and the files
that external.files names, as data; this release of talos-gpu computes the plan on both sides.
`,
  run: async (given, output) => {
    const stack = neededStack(given, "what to plan");
    const [base, at] = [valueOf(given, "base"), valueOf(given, "at")];
    const { columns, colour } = output;
    const screen =
      columns === undefined || given.switches.has("markdown") ? undefined : { columns, colour };
    const { file, text, files } = at === undefined ? inFolder(stack) : inCommit(stack, at);
    const after = sideOf(text, file, file, files);
    if (namesNoMachine(text)) output.remark(emptyStack(file));
    if (after.side === undefined) {
      const { findings } = after;
      if (given.switches.has("json"))
        output.result(`${JSON.stringify({ stack: stackNameOf(file), findings })}\n`);
      else if (screen === undefined) output.result(refusalOf(findings));
      else output.result(refusalOnScreen(findings, screen), true);
      return 1;
    }
    const earlier = base === undefined ? undefined : filesInGit("--base", base, path.dirname(file));
    const before = earlier?.has(file) === true ? baseSideOf(file, base!, earlier) : undefined;
    if (base !== undefined && before?.side === undefined)
      output.remark(
        `${base} has no ${before ? "valid " : ""}stack ${stackNameOf(file)}, so there is nothing to compare with`,
      );
    const comparedWith = before?.side === undefined ? undefined : base;
    const comparison = compare(stackNameOf(file), comparedWith, before?.side, after.side);
    if (given.switches.has("json")) output.result(`${JSON.stringify(comparison)}\n`);
    else if (screen === undefined) output.result(pageOf(comparison));
    else output.result(screenOf(comparison, screen), true);
    return comparison.findings.length > 0 ? 1 : 0;
  },
};

/** As `pulumi new` and `pulumi stack init` leave a stack file. */
function namesNoMachine(text: string): boolean {
  const config = configurationOf(text, "");
  return config["machines"] === undefined && config["pools"] === undefined;
}

const emptyStack = (file: string): string =>
  `${file} names no machine yet: npx talos-gpu discover fills it in from a running cluster, npx talos-gpu import from talhelper's files`;

/** A stack file, and where the files are that it names. */
interface Found {
  /** Its path in the working tree, where it need not be. */
  file: string;
  text: string;
  /** Default: the working tree. */
  files?: FilesInGit;
}

function inFolder(stack: string): Found {
  const file = stackFileOf(stack);
  return { file, text: textOf(file) };
}

/** The stack file of a commit, by the stack's name where the working tree has it, or by its path. */
function inCommit(stack: string, ref: string): Found {
  const candidates = /\.ya?ml$/.test(stack) ? [stack] : placesOf(stack);
  const files = filesInGit("--at", ref, path.dirname(candidates[0]!));
  const file = candidates.find((one) => files.has(one));
  if (file === undefined)
    throw new Error(
      `--stack: ${ref} has no ${candidates.join(", and no ")}, so nothing is known of it; name the path of a stack file that it has`,
    );
  try {
    return { file, text: files.read(file), files };
  } catch (error) {
    throw new Error(
      `--stack: ${file} of ${ref} cannot be read (${(error as Error).message}), so nothing is known of it; name a stack file`,
      { cause: error },
    );
  }
}

/** Plan of a stack file; none if its shape is wrong. Throws an Error if the file is no YAML. */
function sideOf(
  text: string,
  name: string,
  file: string,
  files?: FilesInGit,
): { side?: Side; findings: Finding[] } {
  const written = configurationOf(text, name);
  const config = { ...written, ...withExternal(written, path.dirname(file), files?.read) };
  const judged = judge(config);
  const { plan, remarks } = judged;
  const findings = [...judged.findings, ...tooLong(config)];
  return plan === undefined ? { findings } : { side: { plan, findings, remarks }, findings };
}

/** Plan of the base's stack file; none if its shape is wrong or it cannot be read, since this edit may fix it. */
function baseSideOf(file: string, ref: string, files: FilesInGit): { side?: Side } {
  try {
    return sideOf(files.read(file), `${ref}:${file}`, file, files);
  } catch {
    return {};
  }
}

/**
 * Bytes that Linux accepts in one environment variable, including its name and its end (include/uapi/linux/binfmts.h,
 * MAX_ARG_STRLEN).
 */
const longestVariable = 131_072;

/**
 * Finding for a stack file that is too long for Pulumi to start the program: it hands all of the configuration over
 * in one variable (pulumi/pulumi#8680; pulumi-language-nodejs, constructConfig), so no check that runs in the program
 * could tell.
 *
 * @param config of the stack file, without credentials: they come on top.
 */
export function tooLong(config: Record<string, unknown>): Finding[] {
  const entries = Object.entries(config).map(([key, value]) => [
    `talos-gpu:config:${key}`,
    asText(value),
  ]);
  const size = Buffer.byteLength(`PULUMI_CONFIG=${JSON.stringify(Object.fromEntries(entries))}\0`);
  if (size <= longestVariable) return [];
  return [
    {
      check: "stack-size",
      field: "machines",
      problem: `the stack's configuration has ${Math.ceil(size / 1024)} KiB`,
      why: "Pulumi hands it to the program in one environment variable, and Linux takes at most 128 KiB of one: `argument list too long`",
      remedy: "put machines that are alike into `pools`, and what all have into `machineDefaults`",
    },
  ];
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
