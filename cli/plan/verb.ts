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

/** `talos-gpu plan`: prints the effect of an update, without access to the cluster. */
export const plan: Verb = {
  summary:
    "prints offline what an update of a stack does: which machines reboot and why, what changes, in which order",
  options: {
    stack: { value: "NAME", help: `the stack, ${stackHelp}` },
    base: {
      value: "REF",
      help: "compare with the stack file of this commit, branch or tag (default: no comparison)",
    },
    markdown: { help: "Markdown, also in a terminal" },
    at: {
      value: "REF",
      help: "plan the stack file of this commit, branch or tag, e.g. a pull request's (default: the file in the working tree)",
    },
  },
  more: `In a terminal the command prints tables. Into a pipe or a file, or with --markdown, it prints Markdown for a pull request.
It reads only files and git: no network, no credentials. From the commits of --base and --at it reads only the stack file and the files under external.files, and runs no code of these commits. This release of talos-gpu computes the plans of both commits.
`,
  run: async (args, output) => {
    const stack = neededStack(args, "what to plan");
    const [base, commit] = [valueOf(args, "base"), valueOf(args, "at")];
    const { columns, colour } = output;
    const screen =
      columns === undefined || args.switches.has("markdown") ? undefined : { columns, colour };
    const { file, text, files } = commit === undefined ? inFolder(stack) : inCommit(stack, commit);
    const after = sideOf(text, file, file, files);
    if (namesNoMachine(text)) output.remark(emptyStack(file));
    if (after.side === undefined) {
      const { findings } = after;
      if (args.switches.has("json"))
        output.result(`${JSON.stringify({ stack: stackNameOf(file), findings })}\n`);
      else if (screen === undefined) output.result(refusalOf(findings));
      else output.result(refusalOnScreen(findings, screen), true);
      return 1;
    }
    const filesOfBase =
      base === undefined ? undefined : filesInGit("--base", base, path.dirname(file));
    const before =
      filesOfBase?.has(file) === true ? baseSideOf(file, base!, filesOfBase) : undefined;
    if (base !== undefined && before?.side === undefined)
      output.remark(
        `${base} has no ${before ? "valid " : ""}stack ${stackNameOf(file)}, so there is nothing to compare with`,
      );
    const comparedWith = before?.side === undefined ? undefined : base;
    const comparison = compare(stackNameOf(file), comparedWith, before?.side, after.side);
    if (args.switches.has("json")) output.result(`${JSON.stringify(comparison)}\n`);
    else if (screen === undefined) output.result(pageOf(comparison));
    else output.result(screenOf(comparison, screen), true);
    return comparison.findings.length > 0 ? 1 : 0;
  },
};

/** Whether a stack file names no machine, as after `pulumi new` and `pulumi stack init`. */
function namesNoMachine(text: string): boolean {
  const config = configurationOf(text, "");
  return config["machines"] === undefined && config["pools"] === undefined;
}

const emptyStack = (file: string): string =>
  `${file} has no machines yet: npx talos-gpu discover fills them in from a running cluster, and npx talos-gpu import from talhelper's files`;

/** A stack file, and where to read the files that it names. */
interface Found {
  /** Path of the stack file in the working tree; the file need not exist there. */
  file: string;
  text: string;
  /** Source of the files that the stack file names. Default: the working tree. */
  files?: FilesInGit;
}

function inFolder(stack: string): Found {
  const file = stackFileOf(stack);
  return { file, text: textOf(file) };
}

/** The stack file of a commit. A path names the file; a stack's name is searched in the folders of `placesOf`. */
function inCommit(stack: string, ref: string): Found {
  const candidates = /\.ya?ml$/.test(stack) ? [stack] : placesOf(stack);
  const files = filesInGit("--at", ref, path.dirname(candidates[0]!));
  const file = candidates.find((candidate) => files.has(candidate));
  if (file === undefined)
    throw new Error(
      `--stack: ${ref} has no ${candidates.join(" and no ")}; name the path of a stack file in that commit`,
    );
  try {
    return { file, text: files.read(file), files };
  } catch (error) {
    throw new Error(
      `--stack: ${file} of ${ref} cannot be read (${(error as Error).message}); name a stack file`,
      { cause: error },
    );
  }
}

/** Plan of a stack file; undefined if its shape is wrong. Throws an Error if the file is not YAML. */
function sideOf(
  text: string,
  name: string,
  file: string,
  files?: FilesInGit,
): { side?: Side; findings: Finding[] } {
  const statedConfig = configurationOf(text, name);
  const config = {
    ...statedConfig,
    ...withExternal(statedConfig, path.dirname(file), files?.read),
  };
  const judgement = judge(config);
  const { plan, remarks } = judgement;
  const findings = [...judgement.findings, ...tooLong(config)];
  return plan === undefined ? { findings } : { side: { plan, findings, remarks }, findings };
}

/**
 * Plan of the base's stack file; undefined if the file's shape is wrong or the file cannot be read. The function throws
 * no error in these cases, since the edit that the plan shows may repair the file.
 */
function baseSideOf(file: string, ref: string, files: FilesInGit): { side?: Side } {
  try {
    return sideOf(files.read(file), `${ref}:${file}`, file, files);
  } catch {
    return {};
  }
}

/**
 * Bytes that Linux accepts in one environment variable, including the variable's name and the final zero byte
 * (include/uapi/linux/binfmts.h, MAX_ARG_STRLEN).
 */
const longestVariable = 131_072;

/**
 * Finding for a stack file that is too long for Pulumi to start the program. Pulumi passes the whole configuration in
 * one variable (pulumi/pulumi#8680; pulumi-language-nodejs, constructConfig), so no check in the program could report
 * it.
 *
 * @param config of the stack file, without the credentials. With them the variable is even longer.
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
      why: "Pulumi passes the configuration to the program in one environment variable. Linux limits a variable to 128 KiB, so the program does not start: `argument list too long`",
      remedy: "move similar machines into `pools`, and common fields into `machineDefaults`",
    },
  ];
}

const asText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);
