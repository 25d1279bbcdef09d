import * as path from "node:path";
import * as ts from "typescript";
import { files, read } from "./pages";

// The layout of docs/architecture.md: which folder may import from which.

const modules = new Set(files.filter((file) => /\.[jt]s$/.test(file)));

/** The files of this repository that a file imports or requires, including imports of types. */
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

/** Each list begins with the lowest folder. A folder must not import from one after it. */
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
 * Exceptions: the bench records with the monitor of the tests and checks the patches of the tests' rows, and tests
 * check its arithmetic.
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

/** The nodes of a graph that are in a cycle, or on a path between two cycles. */
function inCircles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Set(graph.keys());
  // A node is in no cycle if it leads to no other remaining node, or if no remaining node leads to it.
  for (let before = -1; before !== left.size;) {
    before = left.size;
    const reached = new Set([...left].flatMap((each) => graph.get(each)!));
    for (const each of left)
      if (!reached.has(each) || !graph.get(each)!.some((other) => left.has(other)))
        left.delete(each);
  }
  return [...left];
}

/** Imports without `sdk`, whose layout is that of Pulumi's generator, with types that refer to each other. */
const own = new Map([...imports].filter(([file]) => !file.startsWith("sdk/")));

test("no files form an import cycle", () => {
  expect(imports.size).toBeGreaterThan(600);
  expect(inCircles(own)).toEqual([]);
});

/** Every folder, including those that contain only folders. */
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

/** Folders with one file for each item, or with data. */
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
