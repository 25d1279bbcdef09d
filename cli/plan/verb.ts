import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { withOutside } from "../../components/found/outside-files";
import { type Finding, judge } from "../../components/recipe/index";
import { configurationOf, stackNameOf, textOf } from "../../stacks/stack-file";
import { stackFileOf } from "../stack";
import { type Verb, valueOf } from "../verb";
import { compare, type Side } from "./comparison";
import { pageOf, refusalOf } from "./page";

/** `talos-gpu plan`: says on paper what an update does. */
export const plan: Verb = {
  summary: "says offline what an update of a stack does: what reboots and why, what changes, in which order",
  options: {
    stack: { value: "NAME", help: "the stack, by its name or its file" },
    base: { value: "REF", help: "compare with the stack file of this commit, branch or tag (default: with nothing)" },
  },
  more: "Reads only files and git: no network, no credentials. From the base it takes only the stack file; this release of talos-gpu\ncomputes the plan on both sides.\n",
  run: async (given, output) => {
    const stack = valueOf(given, "stack");
    if (stack === undefined)
      throw new Error("--stack: is missing, so it is not known what to plan; give a stack's name, or its file");
    const file = stackFileOf(stack);
    const base = valueOf(given, "base");
    const after = sideOf(textOf(file), file, file);
    if (after.side === undefined) {
      const { findings } = after;
      if (given.switches.has("json")) output.result(`${JSON.stringify({ stack: stackNameOf(file), findings })}\n`);
      else output.result(refusalOf(findings));
      return 1;
    }
    const earlier = base === undefined ? undefined : fileAt(base, file);
    const before = earlier === undefined ? undefined : baseSideOf(earlier, file, base!);
    if (base !== undefined && before?.side === undefined)
      output.remark(
        `${base} has no ${before ? "valid " : ""}stack ${stackNameOf(file)}, so there is nothing to compare with`,
      );
    const comparedWith = before?.side === undefined ? undefined : base;
    const comparison = compare(stackNameOf(file), comparedWith, before?.side, after.side);
    output.result(given.switches.has("json") ? `${JSON.stringify(comparison)}\n` : pageOf(comparison));
    return comparison.findings.length > 0 ? 1 : 0;
  },
};

/** A stack file's plan; none where its shape is wrong. Throws an Error where it is no YAML. */
function sideOf(text: string, name: string, file: string, ref?: string): { side?: Side; findings: Finding[] } {
  const written = configurationOf(text, name);
  const config = {
    ...written,
    ...withOutside(written, path.dirname(file), ref === undefined ? undefined : readAt(ref)),
  };
  const judged = judge(config);
  const { plan } = judged;
  const findings = [...judged.findings, ...tooLong(config)];
  return plan === undefined ? { findings } : { side: { plan, findings }, findings };
}

/** Reads files as they were in git. */
const readAt =
  (ref: string) =>
  (file: string): string => {
    const text = fileAt(ref, file);
    if (text === undefined) throw new Error(`it is not in ${ref}`);
    return text;
  };

/** The same of the base, without a plan also where its file is no YAML: the edit that is looked at may be what mends it. */
function baseSideOf(text: string, file: string, ref: string): { side?: Side } {
  try {
    return sideOf(text, `${ref}:${file}`, file, ref);
  } catch {
    return {};
  }
}

/**
 * Text of a file as it was in git.
 *
 * @param ref a commit, branch or tag, e.g. `origin/main`.
 * @returns undefined where that commit has no such file.
 * @throws Error when there is no such commit, or no repository.
 */
function fileAt(ref: string, file: string): string | undefined {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", path.dirname(path.resolve(file)), ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 64 * 1024 * 1024,
    });
  let commit: string;
  try {
    commit = git("rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`).trim();
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr?.trim();
    throw new Error(
      `--base: git knows no commit ${ref}${stderr ? ` (${stderr})` : ""}, so there is nothing to compare with; fetch it first, or leave --base out`,
      { cause: error },
    );
  }
  const place = `./${path.basename(file)}`;
  if (git("ls-tree", "--name-only", commit, place).trim() === "") return undefined;
  return git("show", `${commit}:${place}`);
}

/** What Linux takes of one environment variable, its name and end included, in bytes (include/uapi/linux/binfmts.h, MAX_ARG_STRLEN). */
const longestVariable = 131_072;

/**
 * What keeps Pulumi from starting the program of a stack whose file says too much: it hands all of the configuration over in one
 * variable (pulumi/pulumi#8680; pulumi-language-nodejs, constructConfig), so no check that runs in the program could tell.
 *
 * @param config of the stack file, without credentials: they come on top.
 */
export function tooLong(config: Record<string, unknown>): Finding[] {
  const entries = Object.entries(config).map(([key, value]) => [`talos-gpu:config:${key}`, asText(value)]);
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

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
