import * as path from "node:path";
import * as ts from "typescript";
import { files, read } from "./pages";

// The layout that docs/architecture.md draws: which folder may use which, by the code's own imports.

const modules = new Set(files.filter((file) => /\.[jt]s$/.test(file)));

/** The files of this repository that a file imports or requires, also for types alone. */
function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(read(file), true, true);
  return importedFiles.flatMap(({ fileName }) => {
    if (!fileName.startsWith(".")) return [];
    const base = path.posix.join(path.posix.dirname(file), fileName);
    const candidates = [base, `${base}.ts`, `${base}.js`, `${base}/index.ts`, `${base}/index.js`];
    return candidates.find((candidate) => modules.has(candidate)) ?? [];
  });
}
const imports = new Map([...modules].map((file) => [file, importsOf(file)]));

const within = (folder: string, rooms: string): string[] =>
  rooms.split(" ").map((room) => `${folder}/${room}`);

/** Each list from the lowest: what stands earlier knows nothing of what stands later. */
const floors = [
  ["sdk", "components", "stacks", "generate", "cli", "lab", "bench", "tests"],
  within(
    "components",
    "recipe clients program pulumi credentials machine diagnosis kubernetes lookups workloads cluster plugin",
  ),
  within("components/recipe", "facts checks"),
  within(
    "lab",
    "tools kubernetes session bundle factory real-node charts machines controlplane engine omni providers",
  ),
  within("lab", "without omni providers language-host talos cluster run node"),
];

/**
 * The bench registers on the monitor that tests record with, and judges the patches of the tests' rows; tests judge its arithmetic.
 */
const isOfBench = (file: string, other: string): boolean =>
  file.startsWith("bench/") &&
  (other.startsWith("tests/support/") || other === "tests/recipe/checks/patches/right.ts");

test.each(floors.map((rooms): [string, string[]] => [rooms.join(", "), rooms]))(
  "each folder imports only from itself and the folders before it: %s",
  (_, rooms) => {
    const floorOf = (file: string): number =>
      rooms.findIndex((room) => file.replace(/^lab\/tests\//, "tests/lab/").startsWith(`${room}/`));
    const upward = [...imports].flatMap(([file, others]) =>
      others
        .filter((other) => floorOf(file) >= 0 && floorOf(other) > floorOf(file))
        .filter((other) => !isOfBench(file, other))
        .map((other) => `${file} imports ${other}`),
    );
    expect(upward).toEqual([]);
    for (const room of rooms)
      expect([room, [...modules].some((file) => file.startsWith(`${room}/`))]).toEqual([
        room,
        true,
      ]);
  },
);

/** Of a graph, what is left once everything is taken away that is in no circle. */
function inCircles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Set(graph.keys());
  // What leads to nothing that is left is in no circle, and neither is what nothing that is left leads to.
  for (let before = -1; before !== left.size;) {
    before = left.size;
    const reached = new Set([...left].flatMap((each) => graph.get(each)!));
    for (const each of left)
      if (!reached.has(each) || !graph.get(each)!.some((other) => left.has(other)))
        left.delete(each);
  }
  return [...left];
}

/** `sdk` is laid out as Pulumi generates it, with types that name each other. */
const own = new Map([...imports].filter(([file]) => !file.startsWith("sdk/")));

test("no files form an import cycle", () => {
  expect(imports.size).toBeGreaterThan(600);
  expect(inCircles(own)).toEqual([]);
});

/** Every folder of these rooms; a folder that another one lies in stands for all that is in it. */
const folders = new Set(
  [...own.keys()]
    .filter((file) => /^(bench|components|cli|generate|lab)\//.test(file))
    .flatMap((file) => file.split("/").map((_, depth, names) => names.slice(0, depth).join("/")))
    .filter((folder) => folder !== ""),
);

test.each([...folders])("the entries of the folder %s form no import cycle", (folder) => {
  const neighbourOf = (file: string): string[] =>
    file.startsWith(`${folder}/`) ? [file.slice(folder.length + 1).split("/")[0]!] : [];
  const graph = new Map<string, string[]>();
  for (const [file, others] of own)
    for (const name of neighbourOf(file))
      graph.set(name, [
        ...(graph.get(name) ?? []),
        ...others.flatMap(neighbourOf).filter((other) => other !== name),
      ]);
  expect(inCircles(graph)).toEqual([]);
});

/** Folders of one file per thing, and of data. */
const catalogues = [
  /^components\/recipe\/checks$/,
  /^tests\/recipe\/checks\/mistakes$/,
  /^components\/diagnosis(\/|$)/,
  /^tests\/fixtures(\/|$)/,
  /^tests\/e2e\/stacks$/,
  /(^|\/)data$/,
];

test("no folder has more than twenty files, except folders of tables and data", () => {
  const count = new Map<string, number>();
  for (const file of files)
    count.set(path.posix.dirname(file), (count.get(path.posix.dirname(file)) ?? 0) + 1);
  const full = [...count].filter(
    ([folder, size]) => size > 20 && !catalogues.some((each) => each.test(folder)),
  );
  expect(full).toEqual([]);
});
