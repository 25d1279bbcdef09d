import { stringify } from "yaml";

/** Objects that `talosctl get … -o json` prints: one after the other, each indented, its closing brace alone in the first column. */
export const parseResources = (text: string): Resource[] =>
  text
    .split(/(?<=^\})\s*$\n(?=\{)/m)
    .filter((part) => part.trim() !== "")
    .map((part) => JSON.parse(part) as Resource);

/** A resource of Talos, as `talosctl get -o json` prints it. */
export interface Resource {
  /** A number where Talos' own ID is one, as with extensions. */
  metadata: { id: string | number };
  spec: any;
}

/** Text of a `MachineConfig` resource: a string with all documents; older releases of talosctl printed the first as an object. */
export const configurationText = ({ spec }: Resource): string =>
  typeof spec === "string" ? spec : stringify(spec);

/**
 * Rows of a table that talosctl prints, by column title. Titles hold single spaces at most, columns are aligned, so a cell
 * is what stands below its title; cells may be empty.
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
