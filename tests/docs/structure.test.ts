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

const foldersIn = (folder: string, names: string): string[] =>
  names.split(" ").map((name) => `${folder}/${name}`);

/** Each list begins with the lowest folder. A folder must not import from one after it. */
const foldersByRank = [
  ["sdk", "components", "stacks", "generate", "cli", "lab", "bench", "tests"],
  foldersIn(
    "components",
    "recipe clients program pulumi credentials machine diagnosis kubernetes lookups workloads cluster plugin",
  ),
  foldersIn("components/recipe", "facts checks"),
  foldersIn(
    "lab",
    "tools kubernetes session bundle factory real-node machines controlplane charts engine omni providers",
  ),
  foldersIn("lab", "without omni providers language-host talos cluster run node"),
];

/**
 * Exceptions: the bench records with the monitor of the tests and checks the patches of the tests' rows, and tests
 * check its arithmetic.
 */
const isExceptionOfBench = (file: string, imported: string): boolean =>
  file.startsWith("bench/") &&
  (imported.startsWith("tests/support/") || imported === "tests/recipe/checks/patches/right.ts");

test.each(foldersByRank.map((folders) => ({ folders, names: folders.join(", ") })))(
  "each folder imports only from itself and the folders before it: $names",
  ({ folders }) => {
    const rankOf = (file: string): number => {
      const name = file.replace(/^lab\/tests\//, "tests/lab/");
      return folders.findIndex((folder) => name.startsWith(`${folder}/`));
    };
    const upward = [...imports].flatMap(([file, importedFiles]) =>
      importedFiles
        .filter((imported) => rankOf(file) >= 0 && rankOf(imported) > rankOf(file))
        .filter((imported) => !isExceptionOfBench(file, imported))
        .map((imported) => `${file} imports ${imported}`),
    );
    expect(upward).toEqual([]);
    const hasModules = (folder: string): boolean =>
      [...modules].some((module) => module.startsWith(`${folder}/`));
    expect(folders.filter((folder) => !hasModules(folder))).toEqual([]);
  },
);

/** The nodes of a graph that are in a cycle, or on a path between two cycles. */
function inCycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const remaining = new Set(graph.keys());
  // A node is in no cycle if it leads to no other remaining node, or if no remaining node leads to it.
  for (let previousSize = -1; previousSize !== remaining.size;) {
    previousSize = remaining.size;
    const reached = new Set([...remaining].flatMap((node) => graph.get(node)!));
    for (const node of remaining)
      if (!reached.has(node) || !graph.get(node)!.some((target) => remaining.has(target)))
        remaining.delete(node);
  }
  return [...remaining];
}

/** Imports without `sdk`, whose layout is that of Pulumi's generator, with types that refer to each other. */
const ownImports = new Map([...imports].filter(([file]) => !file.startsWith("sdk/")));

test("no files form an import cycle", () => {
  expect(imports.size).toBeGreaterThan(600);
  expect(inCycles(ownImports)).toEqual([]);
});

/** Every folder, including those that contain only folders. */
const allFolders = new Set(
  [...ownImports.keys()]
    .filter((file) => /^(bench|components|cli|generate|lab)\//.test(file))
    .flatMap((file) => file.split("/").map((_, depth, names) => names.slice(0, depth).join("/")))
    .filter((folder) => folder !== ""),
);

test.each([...allFolders])("the entries of the folder %s form no import cycle", (folder) => {
  /** The folder's entry that contains a file; undefined for a file outside of the folder. */
  const entryOf = (file: string): string | undefined =>
    file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split("/")[0] : undefined;
  const graph = new Map<string, string[]>();
  for (const [file, importedFiles] of ownImports) {
    const entry = entryOf(file);
    if (entry === undefined) continue;
    const importedEntries = importedFiles.flatMap((imported) => entryOf(imported) ?? []);
    const otherEntries = importedEntries.filter((imported) => imported !== entry);
    graph.set(entry, [...(graph.get(entry) ?? []), ...otherEntries]);
  }
  expect(inCycles(graph)).toEqual([]);
});

/** Folders with one file for each item, or with data. */
const largeFolders = [
  /^components\/recipe\/checks$/,
  /^tests\/recipe\/checks\/mistakes$/,
  /^components\/diagnosis(\/|$)/,
  /^tests\/fixtures(\/|$)/,
  /^tests\/e2e\/stacks$/,
  /(^|\/)data$/,
];

test("no folder has more than twenty files, except folders of tables and data", () => {
  const counts = new Map<string, number>();
  for (const folder of files.map((file) => path.posix.dirname(file)))
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const fullFolders = [...counts].filter(
    ([folder, size]) => size > 20 && !largeFolders.some((pattern) => pattern.test(folder)),
  );
  expect(fullFolders).toEqual([]);
});
