import * as fs from "node:fs";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { checkCluster, type GpuSpec, parseSpec, renderFinding, type Finding } from "../../components/recipe/index";
import { convert } from "./convert";
import { renderStack } from "./render";
import { readTalconfig, type Settings, type Talconfig } from "./talconfig";

const usage = `npm run import-talhelper -- FILE [options]     a stack file of a talconfig.yaml's GPU nodes

  --gpu NODE=MODEL    card of a node, e.g. 'velaryon=RTX 2070 SUPER', 'gpu-1=2 x RTX 3090'; may be repeated
  --out FILE          write the stack there, e.g. stacks/Pulumi.velaryon.yaml; default: standard output
  --help

What is left to you is told on standard error.`;

function main(argv: string[]): void {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      gpu: { type: "string", multiple: true, default: [] },
      out: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const [file, ...more] = positionals;
  if (values.help) return console.log(usage);
  if (file === undefined || more.length > 0) throw new Error(`one talconfig.yaml is needed\n\n${usage}`);

  const config = withPatchFiles(readTalconfig(fs.readFileSync(file, "utf8")), path.dirname(file));
  const imported = convert(config, cardsOf(values.gpu));
  const text = renderStack(imported, path.basename(file));
  if (values.out === undefined) process.stdout.write(text);
  else fs.writeFileSync(values.out, text, { flag: "wx" }); // a stack that is there is somebody's work

  const { spec, findings } = parseSpec(imported.spec);
  const said = new Set(imported.notes.map(({ field }) => field));
  // What a note has said already, a check need not say again.
  const found = [...findings, ...(spec === undefined ? [] : checkCluster(spec))].filter(
    ({ field }) => ![...said].some((noted) => field.startsWith(noted)),
  );
  for (const left of [...imported.notes, ...found]) console.error(renderFinding(left as Finding));
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
    text.startsWith("@") ? fs.readFileSync(path.resolve(folder, text.slice(1)), "utf8") : text;
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

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
