import { stringify } from "yaml";

/**
 * Objects from `talosctl get … -o json`, which prints them one after the other, indented, each with its closing brace
 * in the first column.
 */
export const parseResources = (text: string): Resource[] =>
  text
    .split(/(?<=^\})\s*$\n(?=\{)/m)
    .filter((part) => part.trim() !== "")
    .map((part) => JSON.parse(part) as Resource);

/** A resource of Talos from `talosctl get -o json`. */
export interface Resource {
  /** ID of the resource. For some resources, such as extensions, it is a number. */
  metadata: { id: string | number };
  spec: any;
}

/**
 * Text of a `MachineConfig` resource: a string with all documents. Older releases of talosctl print the first document
 * as an object.
 */
export const configurationText = ({ spec }: Resource): string =>
  typeof spec === "string" ? spec : stringify(spec);

/**
 * Rows of a table that talosctl prints, by column title. Columns are aligned, so a cell is the text below its title;
 * cells may be empty. Titles contain at most single spaces.
 */
export function parseTable(text: string): Record<string, string>[] {
  const [header, ...rows] = text.split("\n").filter((line) => line.trim() !== "");
  const columns = [...(header ?? "").matchAll(/\S+(?: \S+)*/g)].map((match) => ({
    title: match[0],
    start: match.index,
  }));
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ title, start }, index) => [
        title,
        row.slice(start, columns[index + 1]?.start).trim(),
      ]),
    ),
  );
}

/** Release of the machine from `talosctl version --json`, which prints one line per machine. */
export function parseVersion(text: string): string {
  const answer = JSON.parse(text.trim().split("\n").at(-1) ?? "") as { version?: { tag?: string } };
  if (answer.version?.tag === undefined)
    throw new Error("talosctl version: no version in its answer");
  return answer.version.tag;
}
