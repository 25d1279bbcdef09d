import { factoryAt, defaultFactoryUrl } from "../../components/recipe/facts/factory";
import { canonicalSchematic } from "../../components/recipe/machine/schematic";
import { unsuffixedNames } from "../../components/recipe/facts/extension";
import { DriverBranch } from "../../components/recipe/index";
import { asText, isMapping, listOf, mappingAt } from "../../components/recipe/mapping";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";

/** A schematic in the form of its file. */
export type RawSchematic = Record<string, unknown>;
/** Schematics by ID: an ID is the hash of the content, so the content is certain. */
export type Schematics = Map<string, RawSchematic>;

/** ID that the Image Factory gives a schematic: the hash of its canonical form. */
export const idOf = (schematic: RawSchematic): string => canonicalSchematic(schematic).id;

/**
 * Largest depth of comments within comments, and largest number of blocks in a text: a hostile file may have a hundred
 * thousand of either.
 */
const deepest = 3;
const mostBlocks = 100;

/**
 * All schematics in a text: as its content, under `schematic:`, or in comments, which may be nested.
 */
export function schematicsIn(text: string, depth = 0): RawSchematic[] {
  const schematics = collect(read(text));
  const comments = text
    .split(/(?:^|\n)(?![ \t]*#)[^\n]*(?=\n|$)/)
    .filter((block) => block.includes("#"));
  for (const block of comments) {
    const uncommented = block
      .split("\n")
      .map((line) => line.replace(/^(\s*)#/, "$1 "))
      .join("\n");
    schematics.push(...blocksOf(uncommented));
    if (depth < deepest && /^[ \t]*#/m.test(uncommented))
      schematics.push(...schematicsIn(uncommented, depth + 1));
  }
  return schematics;
}

/** Blocks of YAML that begin with `customization:` or `overlay:`, in a text that is not YAML as a whole. */
function blocksOf(text: string): RawSchematic[] {
  const lines = text.split("\n");
  let blocks = 0;
  return lines.flatMap((line, lineIndex) => {
    const indent = /^(\s*)(?:customization|overlay):/.exec(line)?.[1]?.length;
    if (indent === undefined || ++blocks > mostBlocks) return [];
    const followingLines = lines.slice(lineIndex);
    const end = followingLines.findIndex(
      (laterLine, index) =>
        index > 0 &&
        laterLine.trim() !== "" &&
        !laterLine.startsWith(" ".repeat(indent + 1)) &&
        !/^\s*(?:customization|overlay):/.test(laterLine),
    );
    return collect(read(followingLines.slice(0, end < 0 ? undefined : end).join("\n")));
  });
}

/** The values of a text's documents; empty if the text is not YAML. */
const read = (text: string): unknown[] => talosDocuments(text).map(valueOfDocument);

/** Mappings with a `customization`, at any depth. */
function collect(value: unknown): RawSchematic[] {
  if (Array.isArray(value)) return value.flatMap(collect);
  if (!isMapping(value)) return [];
  return isMapping(value["customization"]) ? [value] : Object.values(value).flatMap(collect);
}

/**
 * Adds schematics and their possible earlier variants to the known ones, since a machine often runs an image of an
 * earlier state of the file. An ID is the hash of its content, so an unused variant does no harm.
 */
export function addSchematics(schematics: Schematics, newSchematics: RawSchematic[]): void {
  for (const schematic of newSchematics) schematics.set(idOf(schematic), schematic);
  for (const variant of newSchematics.flatMap(variantsOf)) {
    const id = idOf(variant);
    if (!schematics.has(id)) schematics.set(id, variant);
  }
}

/**
 * Variants of a schematic: without kernel arguments, and with the names of NVIDIA's extensions in each branch and
 * without a branch.
 */
function variantsOf(schematic: RawSchematic): RawSchematic[] {
  const customization = mappingAt(schematic["customization"]);
  const { extraKernelArgs: _, ...withoutArgs } = customization;
  return [customization, withoutArgs].flatMap((content) => [
    { ...schematic, customization: content },
    ...["", ...Object.values(DriverBranch).map((branch) => `-${branch}`)].map((suffix) => ({
      ...schematic,
      customization: withSuffix(content, suffix),
    })),
  ]);
}

function withSuffix(customization: RawSchematic, suffix: string): RawSchematic {
  const systemExtensions = mappingAt(customization["systemExtensions"]);
  const official = listOf(systemExtensions["officialExtensions"]).map(asText);
  if (official.length === 0) return customization;
  const renamed = official.map((name) => {
    const base = Object.values(DriverBranch).reduce(
      (text, branch) => text.replace(`-${branch}`, ""),
      name,
    );
    return Object.hasOwn(unsuffixedNames, base) ? `${base}${suffix}` : name;
  });
  return {
    ...customization,
    systemExtensions: { ...systemExtensions, officialExtensions: renamed },
  };
}

/**
 * Asks the Image Factory once for the schematic with this ID. Undefined if the Factory does not answer, or answers with
 * a different schematic (image-factory, docs/api.md, GET /schematics/:schematic).
 */
export async function askForSchematic(
  id: string,
  factoryUrl?: string,
): Promise<RawSchematic | undefined> {
  try {
    const url = `${factoryAt(factoryUrl ?? defaultFactoryUrl, process.env)}/schematics/${id}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(8_000) });
    const [schematic] = response.ok ? collect(read(await response.text())) : [];
    return schematic !== undefined && idOf(schematic) === id ? schematic : undefined;
  } catch {
    return undefined;
  }
}
