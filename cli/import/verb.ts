import * as fs from "node:fs";
import * as path from "node:path";
import { withExternal } from "../../components/lookups/external-files";
import { defaultFactoryUrl } from "../../components/recipe/facts/factory";
import {
  type Finding,
  type GpuSpec,
  judge,
  type MachineSpec,
  renderRemark,
} from "../../components/recipe/index";
import { isWithin } from "../../components/recipe/machine/apart";
import { placedProblem } from "../../components/recipe/rules";
import { inLine } from "../../components/recipe/rules/printable";
import { envOption, variablesNamed } from "../named-variables";
import { editorLine } from "../stack-text";
import { type ParsedArgs, type Output, type Verb, valueOf } from "../verb";
import { nextSteps, placeToWrite, writeOptions, writeStack } from "../write-stack";
import { convert, type Imported, patchesOf, renderStack, unknownSchematics } from "./convert";
import { nvidiaPart } from "./patch";
import { placesIn } from "./places";
import { withRole } from "./talconfig";
import type { FieldFinding } from "../../components/clients/failure";
import { installNote, outsideOf } from "./external";
import { askForSchematic, addSchematics } from "./schematics";
import { readSource } from "./source";
import { unreadFinding } from "./unread";

const options: Verb["options"] = {
  gpu: {
    value: "NODE=MODEL",
    help: "card of a node, e.g. 'velaryon=RTX 2070 SUPER', 'gpu-1=2 x RTX 3090'; may be repeated",
  },
  talos: {
    value: "VERSION",
    help: "Talos release that the machines should run, e.g. v1.13.6; default: the release in the file",
  },
  schematic: {
    value: "FILE",
    help: "file of a schematic whose ID is in FILE; may be repeated (files next to FILE are always read)",
  },
  factory: {
    help: "ask the Image Factory for schematics that are in none of the files (default: no network)",
  },
  "env-file": {
    value: "FILE",
    help: "file with variables of a talconfig.yaml; default: talenv.yaml in the folder of the talconfig.yaml",
  },
  env: envOption,
  ...writeOptions,
};

/** `talos-gpu import`: writes a stack file for machines that another tool configures. */
export const importFiles: Verb = {
  summary: "writes a stack file from a talconfig.yaml, a topf.yaml, or machine configurations",
  argument: { name: "FILE", several: true },
  options,
  more: `FILE is talhelper's talconfig.yaml, topf's topf.yaml, a folder with one of these, or a machine's configuration (output of \`talosctl get machineconfig -o yaml\`, or rendered by talm). Several configurations may be given. The command imports only settings for NVIDIA: the other tool still manages all other settings. If the repository of FILE installs the GPU Operator or the device plugin by Flux or Argo CD, the stack declares this release under external. The stack is written to the file of --out or --stack. Without these options the stack is written to the file of Pulumi's selected stack. If that file already names machines, the stack is written to standard output. Standard error lists the tasks that remain for you. If tasks remain, the exit status is 1.
`,
  run: importAll,
};

async function importAll(args: ParsedArgs, output: Output): Promise<number> {
  const files = args.positionals.map(fileOf);
  const place = placeToWrite(args);
  const out = place === "-" ? undefined : place;
  const source = readSource(files, {
    environmentFiles: args.values["env-file"],
    schematicFiles: args.values["schematic"] ?? [],
    environment: variablesNamed(args),
  });
  const { schematics } = source;
  const talos = valueOf(args, "talos");
  const config = talos === undefined ? source.config : { ...source.config, talosVersion: talos };
  if (args.switches.has("factory")) {
    const { registryURL, protocol = "https" } = config.imageFactory ?? {};
    const factory = registryURL === undefined ? undefined : `${protocol}://${registryURL}`;
    const schematicRequests = unknownSchematics(config, schematics).map((id) =>
      askForSchematic(id, factory),
    );
    for (const schematic of await Promise.all(schematicRequests))
      if (schematic !== undefined) addSchematics(schematics, [schematic]);
    for (const id of unknownSchematics(config, schematics))
      output.remark(
        `--factory: ${factory ?? defaultFactoryUrl} did not return schematic ${id.slice(0, 12)}…, so its content stays unknown; try again, or pass its file (--schematic FILE)`,
      );
  }
  const placeOf = placesIn(source);
  const converted = convert(config, cardsOf(args.values["gpu"] ?? []), schematics, placeOf);
  const folder = out === undefined ? process.cwd() : path.dirname(path.resolve(out));
  const { external, notes: notesOnExternal } = outsideOf(files[0]!, folder);
  if (external !== undefined) {
    const { devicePlugin: _, gpuOperator: __, ...specWithoutProviders } = converted.spec;
    converted.spec = { ...specWithoutProviders, external };
  }
  const patches = new Set(
    config.nodes.flatMap((node) => [
      ...patchesOf(withRole(config, node)),
      ...(config.patches ?? []),
    ]),
  );
  const containerdPlace = (extra: string, problem: string): string | undefined => {
    const patch = [...patches].findLast((text) =>
      nvidiaPart(text, "").containerd.some(({ content }) => content === extra),
    );
    return patch === undefined ? undefined : placeOf(patch, problem);
  };
  const withoutRefusedParts = withoutFindings(converted, folder, containerdPlace);
  const installNotes = installNote(withoutRefusedParts.spec);
  withoutRefusedParts.notes.push(...notesOnExternal, ...installNotes);
  // The user runs the commands of these remedies in the current folder.
  const nameOf = (file: string): string => path.relative(process.cwd(), file);
  withoutRefusedParts.notes.unshift(
    ...source.unread.map((unreadFile) => ({ field: "FILE", ...unreadFinding(unreadFile, nameOf) })),
  );
  withoutRefusedParts.notes.unshift(
    ...source.notes.filter(({ field }) => field !== "talosVersion" || talos === undefined),
  );
  const text = `${editorLine(out)}${renderStack(withoutRefusedParts, files.map((file) => path.basename(file)).join(", "))}`;
  const notesAndFindings = [...withoutRefusedParts.notes, ...foundIn(withoutRefusedParts, folder)];
  const { leftOut } = withoutRefusedParts;
  if (args.switches.has("json"))
    output.result(`${JSON.stringify({ stack: text, notes: notesAndFindings, leftOut })}\n`);
  else if (out === undefined) output.result(text);
  for (const note of [...notesAndFindings, ...remarksOn(withoutRefusedParts, folder)])
    output.remark(inLine(renderRemark(note)));
  if (leftOut.length > 0)
    output.remark(
      inLine(
        `Not in the stack, because no file shows that these nodes have a GPU: ${leftOut.join(", ")} (add a node by --gpu NODE=MODEL)`,
      ),
    );
  // This comes last, so that a message about an unknown card is reported first.
  if (out !== undefined) {
    writeStack(out, text, args.switches.has("force"));
    output.remark(nextSteps(out, args.environment));
  }
  // The note that the stack will install a GPU provider needs no change of the stack.
  return notesAndFindings.length > installNotes.length ? 1 : 0;
}

/** Names of the files in which tools describe a cluster's machines. */
const ofTools = ["talconfig.yaml", "talconfig.yml", "topf.yaml", "topf.yml"];

/** The file to import; if a folder is given, the tool's file in it. */
function fileOf(fileOrFolder: string): string {
  if (!fs.existsSync(fileOrFolder) || !fs.statSync(fileOrFolder).isDirectory()) return fileOrFolder;
  const toolFile = ofTools
    .map((name) => path.join(fileOrFolder, name))
    .find((file) => fs.existsSync(file));
  if (toolFile !== undefined) return toolFile;
  throw new Error(
    `FILE: ${fileOrFolder} is a folder without a talconfig.yaml or topf.yaml, so there is nothing to import; name that file or the machines' configurations`,
  );
}

/**
 * Removes imported settings that a check refuses, so that there is a plan for the other settings. They may be
 * containerd's options of a machine, or the values of an external GPU provider.
 *
 * @param containerdPlace returns the file and line of the refused options of containerd
 */
function withoutFindings(
  imported: Imported,
  folder: string,
  containerdPlace: (extra: string, problem: string) => string | undefined,
): Imported {
  const { spec, notes } = imported;
  const { external } = { ...spec, ...withExternal(spec, folder) } as Imported["spec"];
  const machines = { ...spec.machines };
  const refusedParts: FieldFinding[] = [];
  for (const finding of judge({ ...spec, external }).findings) {
    const { field, problem, why, remedy } = finding;
    const [machine] = Object.keys(machines).filter((name) =>
      isWithin(field, `machines.${name}.containerd`),
    );
    const place = machine === undefined ? "external" : `machines.${machine}.containerd`;
    const isOfExternal =
      isWithin(field, "external") && (external?.read?.kind ?? external?.values) !== undefined;
    if (machine === undefined && !isOfExternal) continue;
    if (machine === undefined) {
      const member = field.slice(place.length + 1);
      const files = spec.external?.files?.join(", ");
      refusedParts.push({
        field: place,
        why,
        problem: `is left out, because ${member} ${placedProblem(finding)}`,
        remedy: files
          ? `${remedy}${remedy.endsWith("?") ? "" : "."} Then write the files under external.files again: ${files}`
          : remedy,
      });
      continue;
    }
    const sourcePlace = containerdPlace(spec.machines[machine]?.containerd?.extra ?? "", problem);
    refusedParts.push({
      field: place,
      why,
      problem: `is left out, because ${sourcePlace ?? "the part that the other tool writes"} ${problem}`,
      remedy: `change the other tool's file, because this stack does not configure containerd: ${remedy}`,
    });
    machines[machine] = withoutContainerd(machines[machine]!);
  }
  const isRefused = refusedParts.some(({ field }) => field === "external");
  const kind = external?.read?.kind ?? external?.kind;
  const namespace = external?.read?.namespace ?? external?.namespace;
  return {
    ...imported,
    spec: {
      ...spec,
      machines,
      ...(isRefused
        ? { external: { ...(kind && { kind }), ...(namespace === undefined ? {} : { namespace }) } }
        : {}),
    },
    notes: [
      ...notes.filter(({ field }) => !refusedParts.some((note) => note.field === field)),
      ...refusedParts,
    ],
  };
}

const withoutContainerd = ({ containerd: _, ...rest }: MachineSpec): MachineSpec => rest;

/** Findings that refuse the stack, without those that a note has already reported. */
function foundIn({ spec, notes }: Imported, folder: string): Finding[] {
  const notedFields = notes
    .map(({ field }) => field)
    .filter((field) => /^talosVersion$|\.(?:gpus|address)$/.test(field));
  return judge({ ...spec, ...withExternal(spec, folder) }).findings.filter(
    ({ field }) => !notedFields.some((notedField) => isWithin(field, notedField)),
  );
}

/** Findings that do not refuse the stack: warnings and notes. */
const remarksOn = ({ spec }: Imported, folder: string): Finding[] =>
  judge({ ...spec, ...withExternal(spec, folder) }).remarks;

/** Cards by node, from texts of the form `NODE=MODEL` or `NODE=2 x MODEL`. */
function cardsOf(texts: string[]): Record<string, GpuSpec[]> {
  const cards: Record<string, GpuSpec[]> = {};
  for (const text of texts) {
    const { node, count, model } =
      /^(?<node>[^=]+)=(?:(?<count>\d+) ?x )?(?<model>.+)$/.exec(text)?.groups ?? {};
    if (node === undefined || model === undefined)
      throw new Error(
        `--gpu: ${text} is not of the form NODE=MODEL; write e.g. --gpu 'gpu-1=2 x RTX 3090'`,
      );
    (cards[node] ??= []).push({ model, ...(count === undefined ? {} : { count: Number(count) }) });
  }
  return cards;
}
