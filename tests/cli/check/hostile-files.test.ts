import * as fs from "node:fs";
import * as path from "node:path";
import { Lexer } from "yaml";
import { check } from "../../../cli/check/verb";
import { importFiles } from "../../../cli/import/verb";
import { lineIn, lineOfText } from "../../../cli/lines";
import { talosDocuments } from "../../../components/recipe/rules/yaml";
import { runVerb, sharedTemporaryFolder } from "../support";
import { startTokenCount } from "../../support/parser-tokens";

const temporaryFolder = sharedTemporaryFolder();

function writeFile(name: string, text: string): string {
  const file = path.join(temporaryFolder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
}

const repeatLine = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("");

/** Files of less than 1 MiB, each of which held the command for 40 seconds and more. */
const filesWithTooManyEntries: Record<string, string> = {
  modules: `machine:\n  kernel:\n    modules:\n${repeatLine(30_000, (index) => `      - name: nvidia${index}\n`)}`,
  extensions: `customization:\n  systemExtensions:\n    officialExtensions:\n${repeatLine(28_000, (index) => `      - siderolabs/nvidia-${index}\n`)}`,
  labels: `machine:\n  nodeLabels:\n${repeatLine(25_000, (index) => `    nvidia.com/mig.config${index}: x\n`)}`,
  documents: repeatLine(
    7_000,
    (index) =>
      `---\nkind: HelmRelease\nmetadata: {name: nvidia${index}}\nspec: {chart: {spec: {chart: gpu-operator}}}\n`,
  ),
};

test.each(Object.entries(filesWithTooManyEntries))(
  "a file with too many %s is refused, with the limit on entries",
  async (name, text) => {
    const { status, stderr } = await runVerb("check", check, [writeFile(`${name}.yaml`, text)]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(
        /is not checked: it has more than 10000 entries, .*; give only the parts that matter$/,
      ),
    });
  },
);

test("each of 600 findings in one file has its line", async () => {
  const extensions = repeatLine(600, (index) => `      - siderolabs/nvidia-unheard-of-${index}\n`);
  const file = writeFile(
    "some.yaml",
    `customization:\n  systemExtensions:\n    officialExtensions:\n${extensions}`,
  );
  const { stdout } = await runVerb("check", check, [file, "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { line: number; problem: string }[] };
  const unknownExtensions = findings.filter(({ problem }) =>
    problem.includes("there is no official extension"),
  );
  expect(unknownExtensions).toHaveLength(600);
  for (const { line, problem } of unknownExtensions)
    expect(line).toBe(4 + Number(/unheard-of-(\d+)/.exec(problem)![1]));
});

test("a duplicate key of a mapping is reported with its line and column, and equal keys elsewhere are not", () => {
  const messages = (text: string): string[] =>
    talosDocuments(text).flatMap(({ errors }) => errors.map(({ message }) => message));
  expect(messages("machine:\n  env: {}\n  env: {}\n")).toEqual([
    "Map keys must be unique at line 3, column 3:",
  ]);
  expect(messages("a: {x: 1}\nb: {x: 1}\n1: x\n'1': y\n")).toEqual([]);
});

/**
 * Files of at most 1 MiB that have little content but keep a parser busy for long, and the limit that refuses
 * each.
 */
const slowToParse: { name: string; text: string; limit: string }[] = [
  { name: "blanks", text: "\n".repeat(1_000_000), limit: "60000 YAML tokens" },
  { name: "tabs", text: "\t\n".repeat(400_000), limit: "60000 YAML tokens" },
  {
    name: "comments",
    text: repeatLine(70_000, (index) => `# a ${index}\n`),
    limit: "60000 YAML tokens",
  },
  { name: "documents", text: "---\n".repeat(200_000), limit: "60000 YAML tokens" },
  { name: "directives", text: "%TAG !a! b\n".repeat(80_000), limit: "60000 YAML tokens" },
  { name: "anchors", text: "&a ".repeat(300_000), limit: "60000 YAML tokens" },
  { name: "brackets", text: "[".repeat(400_000), limit: "100 deep" },
  { name: "braces", text: "{a: ".repeat(250_000), limit: "100 deep" },
  { name: "dashes", text: "- ".repeat(400_000), limit: "100 deep" },
  { name: "questions", text: "? ".repeat(400_000), limit: "100 deep" },
  {
    name: "indentation",
    text: repeatLine(1_000, (index) => `${" ".repeat(index)}a:\n`),
    limit: "100 deep",
  },
  {
    name: "a text by many aliases",
    text: `a: &a "${"x".repeat(1_000)}"\nb: [${"*a, ".repeat(3_000)}]\n`,
    limit: "2000000 characters",
  },
];

test.each(slowToParse)(
  "a file of $name is refused, and the error has the limit's number",
  async ({ name, text, limit }) => {
    const file = writeFile(
      `${name}.yaml`,
      `nvidia: x\n${name === "directives" ? "...\n" : ""}${/^[[{]/.test(text) ? "x: " : ""}${text}`,
    );
    const { status, stderr } = await runVerb("check", check, [file]);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining(`is not checked: it`),
    });
    expect(stderr).toContain(limit);
    await expect(runVerb("import", importFiles, [file])).rejects.toThrow(limit);
  },
);

test("findings after the first thousand are counted instead of listed", async () => {
  const args = repeatLine(3_000, (index) => `    - nvidia.NVreg_x${index}=1\n`);
  const { status, stdout, stderr } = await runVerb("check", check, [
    writeFile("args.yaml", `customization:\n  extraKernelArgs:\n${args}`),
  ]);
  expect(status).toBe(1);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1_000);
  expect(stderr).toContain("Only the first 1000 findings are reported, and 2000 more were found.");
});

test("at most 2,000 machines, images, pods and releases are checked, and the unchecked files are listed", async () => {
  const schematic = "---\ncustomization: {extraKernelArgs: []}\n";
  const files = [1, 2].map((index) => writeFile(`many-${index}.yaml`, schematic.repeat(1_000)));
  const { stdout } = await runVerb("check", check, [
    ...files,
    writeFile("one-more.yaml", schematic),
    "--json",
  ]);
  const { checked, unread } = JSON.parse(stdout) as { checked: number; unread: unknown[] };
  expect({ checked, unread }).toEqual({
    checked: 2_000,
    unread: [
      {
        file: expect.stringMatching(/one-more\.yaml$/),
        problem: expect.stringContaining("more than 2000 machines, images"),
      },
    ],
  });
});

test("after a thousand findings, the number of unchecked machines, images, pods and releases is reported", async () => {
  const schematic =
    "---\ncustomization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-x]}}\n";
  const { status, stdout, stderr } = await runVerb("check", check, [
    writeFile("findings.yaml", schematic.repeat(1_010)),
  ]);
  expect(status).toBe(1);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1_000);
  expect(stderr).toContain(
    "Only the first 1000 findings are reported. 10 further machines, images, pods and releases were not checked.",
  );
});

test("check parses about twice as many characters for twice as many releases", async () => {
  const sources = (count: number): string =>
    writeFile(
      `argo-${count}.yaml`,
      `kind: Application\nmetadata: {name: a}\nspec:\n  sources:\n${repeatLine(count, (index) => `    - {chart: gpu-operator, targetRevision: v25.3.${index}, helm: {values: "a${count}: ${index}"}}\n`)}`,
    );
  const [smallFile, largeFile] = [sources(20), sources(40)];
  const smallCount = await charactersRead(() => runVerb("check", check, [smallFile]));
  const largeCount = await charactersRead(() => runVerb("check", check, [largeFile]));
  expect(largeCount / smallCount).toBeLessThan(2.2);
});

test.each([
  ["a thousand times in one comment", `# ${"unheard ".repeat(1_000)}\n`],
  ["in a thousand comments", "# unheard\n".repeat(1_000)],
])(
  "fifty findings about one word search the file once for each line that has the word: %s",
  (_, comments) => {
    const text = `${comments}a: unheard\n`;
    const search = jest.spyOn(String.prototype, "lastIndexOf");
    const lines = Array.from({ length: 50 }, () =>
      lineIn({ file: "a.yaml", line: 1, text }, '"unheard" is not known'),
    );
    const searchCount = search.mock.contexts.filter((context) => String(context) === text).length;
    search.mockRestore();
    expect(new Set(lines)).toEqual(new Set([text.split("\n").length - 1]));
    expect(searchCount).toBe(comments.split("\n").length);
  },
);

/** A machine of a talconfig with every field that talhelper accepts. */
const fullMachine = (index: number): string => `  - hostname: gpu-${index}
    ipAddress: 10.0.${Math.trunc(index / 250)}.${index % 250}
    controlPlane: ${index < 3}
    installDisk: /dev/nvme0n1
    machineSpec: {mode: metal, secureboot: false}
    nodeLabels: {zone: a, rack: "${index % 40}"}
    kernelModules: [{name: nvidia}, {name: nvidia_uvm}]
    schematic:
      customization:
        systemExtensions:
          officialExtensions: [siderolabs/nvidia-open-gpu-kernel-modules-production, siderolabs/nvidia-container-toolkit-production]
    networkInterfaces:
      - interface: eth0
        addresses: [10.0.${Math.trunc(index / 250)}.${index % 250}/24]
        routes: [{network: 0.0.0.0/0, gateway: 10.0.0.1}]
    patches:
      - |-
        machine:
          sysctls:
            vm.nr_hugepages: "${index}"
`;

test("a talconfig of a thousand machines exceeds no limit", () => {
  const text = `clusterName: large\nnodes:\n${repeatLine(1_000, fullMachine)}`;
  expect(talosDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
});

test("check and import read a talconfig whose machines together have more entries than the limit for other files", async () => {
  const nodes = repeatLine(
    1_100,
    (index) =>
      `  - {hostname: n${index}, ipAddress: 10.1.${Math.trunc(index / 250)}.${index % 250}, installDisk: /dev/a, nodeLabels: {a: b}}\n`,
  );
  const file = writeFile("fleet/talconfig.yaml", `talosVersion: v1.12.6\nnodes:\n${nodes}`);
  const { status, stderr } = await runVerb("check", check, [file]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/^Nothing is/) });
  await expect(runVerb("import", importFiles, [file])).rejects.toThrow("no node loads NVIDIA");
});

test.each([
  ["one machine of its list has", `nodes:\n  - {a: [${"a,".repeat(10_000)}]}\n`, 10_000],
  ["a field next to a list has", `nodes: [{a: b}]\nb: [${"a,".repeat(10_000)}]\n`, 10_000],
  [
    "aliases in a list expand to",
    `b: &b {a: [${"a,".repeat(900)}]}\nnodes: [${"*b,".repeat(200)}]\n`,
    100_000,
  ],
])("a file is refused if %s more entries than the limit", (_, text, limit) =>
  expect(
    talosDocuments(text)
      .flatMap(({ errors }) => errors.map(String))
      .join(),
  ).toContain(`it has more than ${limit} entries`),
);

test("after 500,000 YAML tokens in all files together, check reads no further file and names those", async () => {
  const text = `[${"a, ".repeat(9_000)}]`;
  for (let index = 0; index < 60; index++)
    writeFile(`tokens/${String(index).padStart(2, "0")}.yaml`, `# ${index}\na: ${text}\n`);
  writeFile("tokens/last.yaml", "# Talos\nmachine: {type: worker}\n");
  const stopCounting = startTokenCount();
  const { status, stdout } = await runVerb("check", check, [
    path.join(temporaryFolder, "tokens"),
    "--json",
  ]);
  const count = stopCounting();
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThan(600_000);
  const { checked, unread } = JSON.parse(stdout) as {
    checked: number;
    unread: { problem: string }[];
  };
  // The file that mentions Talos comes first.
  expect({ status, checked }).toEqual({ status: 2, checked: 1 });
  expect(unread.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(
      /^is not checked: the files before this one already have 500000 YAML tokens \(the same applies to (\S+\.yaml, ){9}\d+ more\); give fewer files at once$/,
    ),
  ]);
});

test("after 40,000 entries in all files together, check checks no further file and names those", async () => {
  for (let index = 0; index < 7; index++)
    writeFile(
      `entries/${index}.yaml`,
      `machine:\n  nodeLabels:\n${repeatLine(4_900, (label) => `    a${index}.example/${label}: x\n`)}`,
    );
  const { status, stdout } = await runVerb("check", check, [
    path.join(temporaryFolder, "entries"),
    "--json",
  ]);
  const { checked, unread } = JSON.parse(stdout) as { checked: number; unread: unknown[] };
  expect({ status, checked, unread }).toEqual({
    status: 2,
    checked: 5,
    unread: [
      {
        file: expect.stringMatching(/5\.yaml$/),
        problem: expect.stringMatching(
          /^is not checked: the parts that were checked earlier already have 40000 YAML entries \(the same applies to \S*6\.yaml\); give fewer files at once$/,
        ),
      },
    ],
  });
});

test("a talconfig whose nodes have more than 5,000 patches together is refused with that number", async () => {
  const patches = `x: &patches\n${repeatLine(300, (index) => `  - 'machine: {sysctls: {a${index}: "1"}}'\n`)}`;
  const nodes = repeatLine(
    17,
    (index) => `  - {hostname: n${index}, ipAddress: 10.0.0.${index}, patches: *patches}\n`,
  );
  const file = writeFile("aliases/talconfig.yaml", `${patches}nodes:\n${nodes}`);
  const { stderr } = await runVerb("check", check, [file]);
  expect(stderr).toContain("nodes: 5100 patches in total");
  await expect(runVerb("import", importFiles, [file])).rejects.toThrow("5100 patches in total");
});

test("a talconfig whose nodes have patches of more than 5,000,000 characters together is refused with that number", async () => {
  const patches = repeatLine(5, () => `  - 'machine: {env: {a: ${"x".repeat(100_000)}}}'\n`);
  const nodes = repeatLine(
    11,
    (index) => `  - {hostname: n${index}, ipAddress: 10.0.0.${index}}\n`,
  );
  const file = writeFile("long/talconfig.yaml", `patches:\n${patches}nodes:\n${nodes}`);
  await expect(runVerb("import", importFiles, [file])).rejects.toThrow(
    /nodes: patches with 55\d+ characters in total/,
  );
});

/** The number of characters that the parser reads during a call. */
async function charactersRead(call: () => Promise<unknown>): Promise<number> {
  const lex = jest.spyOn(Lexer.prototype, "lex");
  await call();
  const sum = lex.mock.calls.reduce((total, [text]) => total + text.length, 0);
  lex.mockRestore();
  return sum;
}

test.each([
  ["check", check],
  ["import", importFiles],
])("%s parses about twice as many characters for twice as many patches", async (name, verb) => {
  const withPatches = (count: number): string =>
    writeFile(
      `patches-${name}-${count}/talconfig.yaml`,
      `nodes:\n  - hostname: n\n    ipAddress: 10.0.0.1\n    kernelModules: [{name: nvidia}]\n    patches:\n${repeatLine(count, (index) => `      - |-\n        machine:\n          sysctls:\n            net.${name}${count}.a${index}: "1"\n`)}`,
    );
  const [smallFile, largeFile] = [withPatches(150), withPatches(300)];
  const smallCount = await charactersRead(() => runVerb(name, verb, [smallFile]));
  const largeCount = await charactersRead(() => runVerb(name, verb, [largeFile]));
  expect(largeCount / smallCount).toBeLessThan(2.2);
});

test("500 patches are located in a file by their lines, and the file is split into lines only once", () => {
  const block = (index: number): string =>
    `- |-\n  machine:\n    kernel:\n      modules:\n        - name: nvidia${index}\n`;
  const fileText = `patches:\n${repeatLine(500, block)}`;
  const patch = (index: number): string =>
    block(index)
      .split("\n")
      .slice(1)
      .map((line) => line.slice(2))
      .join("\n");
  const split = jest.spyOn(String.prototype, "split");
  const lines = Array.from({ length: 500 }, (_, index) => lineOfText(fileText, patch(index)));
  const splitCount = split.mock.contexts.filter((text) => String(text) === fileText).length;
  split.mockRestore();
  expect(lines).toEqual(Array.from({ length: 500 }, (_, index) => 3 + 5 * index));
  expect(splitCount).toBe(1);
});
