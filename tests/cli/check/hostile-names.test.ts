import * as fs from "node:fs";
import * as path from "node:path";
import { check } from "../../../cli/check/verb";
import { unsafeParts, hostileName } from "../hostile";
import { runVerb, sharedTemporaryFolder } from "../support";
import { hostileFolder } from "./hostile-folder";

const temporaryFolder = sharedTemporaryFolder();

test.each(["text", "github", "sarif"])(
  "hostile names are escaped in the format %s and in remarks",
  async (format) => {
    const { stdout, stderr, status } = await runVerb("check", check, [
      hostileFolder(temporaryFolder),
      `--format=${format}`,
    ]);
    expect(status).toBe(1);
    expect(stdout).toContain("forged");
    expect(stderr).toContain("forged");
    expect(unsafeParts(stdout)).toEqual([]);
    expect(unsafeParts(stderr)).toEqual([]);
    if (format === "sarif") expect(unsafeParts(messagesIn(stdout).join("\n"))).toEqual([]);
    if (format === "github")
      for (const line of stdout.trim().split("\n")) expect(line).toMatch(/^::error file=/);
  },
);

interface Sarif {
  runs: { results: { message: { text: string } }[] }[];
}
const messagesIn = (sarif: string): string[] =>
  (JSON.parse(sarif) as Sarif).runs.flatMap(({ results }) =>
    results.map(({ message }) => message.text),
  );

test("a file's name cannot become a link in SARIF", async () => {
  const folder = fs.mkdtempSync(path.join(temporaryFolder, "link-"));
  const link = "[forged](https://example.com)";
  fs.writeFileSync(
    path.join(folder, "a.yaml"),
    `customization:\n  systemExtensions:\n    officialExtensions: ["siderolabs/nvidia-${link}"]\n`,
  );
  const { stdout } = await runVerb("check", check, [folder, "--format=sarif"]);
  expect(messagesIn(stdout).join("\n")).toContain("[forged] (https://example.com)");
});

test("JSON keeps hostile names, with control characters escaped", async () => {
  const { stdout } = await runVerb("check", check, [hostileFolder(temporaryFolder), "--json"]);
  expect(unsafeParts(stdout)).toEqual([]);
  const { findings } = JSON.parse(stdout) as { findings: { file: string; problem: string }[] };
  expect(findings.some(({ file }) => file.endsWith(`a${hostileName}.yaml`))).toBe(true);
});
