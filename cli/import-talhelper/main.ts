import * as fs from "node:fs";
import * as path from "node:path";
import { checkCluster, type GpuSpec, parseSpec, renderFinding, type Finding } from "../../components/recipe/index";
import { editorLine } from "../editor-line";
import { type Verb, valueOf } from "../verb";
import { convert } from "./convert";
import { renderStack } from "./render";
import { readTalconfig, type Settings, type Talconfig } from "./talconfig";

/** `talos-gpu import-talhelper`: writes the stack file of a talconfig.yaml. */
export const importTalhelper: Verb = {
  summary: "writes a stack file of a talconfig.yaml's GPU nodes",
  argument: { name: "FILE", completes: "file", required: true },
  options: {
    gpu: {
      value: { name: "NODE=MODEL", completes: "nothing" },
      multiple: true,
      help: "card of a node, e.g. 'velaryon=RTX 2070 SUPER', 'gpu-1=2 x RTX 3090'; may be repeated",
    },
    out: {
      value: { name: "FILE", completes: "file" },
      help: "write the stack there, e.g. stacks/Pulumi.velaryon.yaml; default: standard output",
    },
  },
  more: "Standard error lists what you still have to do.\n",
  run: async (given, output) => {
    const imported = importFrom(given.positionals[0]!, given.values.gpu ?? [], valueOf(given, "out"));
    const json = given.switches.has("json");
    output.result(
      json
        ? `${JSON.stringify({ stack: imported.text, notes: imported.left })}\n`
        : imported.written
          ? ""
          : imported.text,
    );
    for (const left of imported.left) output.remark(renderFinding(left));
    return 0;
  },
};

/** The stack file, and what is left to the user. */
function importFrom(
  file: string,
  gpus: string[],
  out: string | undefined,
): { text: string; written: boolean; left: Omit<Finding, "check">[] } {
  const config = withPatchFiles(readTalconfig(contentOf(file, "FILE")), path.dirname(file));
  const imported = convert(config, cardsOf(gpus));
  const text = `${editorLine(out)}${renderStack(imported, path.basename(file))}`;
  if (out !== undefined) writeNew(out, text);

  const { spec, findings } = parseSpec(imported.spec);
  const said = new Set(imported.notes.map(({ field }) => field));
  // What a note has said already, a check need not say again.
  const found = [...findings, ...(spec === undefined ? [] : checkCluster(spec))].filter(
    ({ field }) => ![...said].some((noted) => field.startsWith(noted)),
  );
  return { text, written: out !== undefined, left: [...imported.notes, ...found] };
}

/** Writes a file that is not there yet: a stack that is there is somebody's work. */
function writeNew(file: string, text: string): void {
  try {
    fs.writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`--out: ${file} cannot be written (${code}); nothing was; name a file that is not there yet`, {
      cause: error,
    });
  }
}

/** Text of a file, which a field names. */
function contentOf(file: string, field: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      `${field}: ${file} cannot be read (${code}); what it says would be lost; name a file that can be, or take it out`,
      { cause: error },
    );
  }
}

/** `NODE=MODEL` or `NODE=2 x MODEL`. */
function cardsOf(texts: string[]): Record<string, GpuSpec[]> {
  const cards: Record<string, GpuSpec[]> = {};
  for (const text of texts) {
    const { node, count, model } = /^(?<node>[^=]+)=(?:(?<count>\d+) ?x )?(?<model>.+)$/.exec(text)?.groups ?? {};
    if (node === undefined || model === undefined)
      throw new Error(`--gpu: ${text} names no node and card; write e.g. --gpu 'gpu-1=2 x RTX 3090'`);
    (cards[node] ??= []).push({ model, ...(count === undefined ? {} : { count: Number(count) }) });
  }
  return cards;
}

/** talhelper takes a patch from a file where it is written as `@FILE`. */
function withPatchFiles(config: Talconfig, folder: string): Talconfig {
  const read = (text: string): string =>
    text.startsWith("@") ? contentOf(path.resolve(folder, text.slice(1)), "patches") : text;
  const settings = <T extends Settings>(value: T): T =>
    value.patches === undefined ? value : { ...value, patches: value.patches.map(read) };
  return {
    ...config,
    ...(config.patches === undefined ? {} : { patches: config.patches.map(read) }),
    ...(config.controlPlane === undefined ? {} : { controlPlane: settings(config.controlPlane) }),
    ...(config.worker === undefined ? {} : { worker: settings(config.worker) }),
    nodes: config.nodes.map(settings),
  };
}
