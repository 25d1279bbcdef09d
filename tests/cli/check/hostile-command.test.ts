import * as fs from "node:fs";
import * as path from "node:path";
import { unsafeParts, hostileName } from "../hostile";
import { setupCli, runCommand } from "../support";
import { hostileFolder } from "./hostile-folder";

const testBed = setupCli();

test("the command escapes hostile names in its output and its errors", async () => {
  const { stdout, stderr, status } = await runCommand(testBed.cli, [
    "check",
    hostileFolder(testBed.folder),
  ]);
  expect(status).toBe(1);
  expect(unsafeParts(stdout)).toEqual([]);
  expect(unsafeParts(stderr)).toEqual([]);
  const error = await runCommand(testBed.cli, ["check", `--format=${hostileName}`, "x"]);
  expect(error.status).toBe(2);
  expect(unsafeParts(error.stderr.replaceAll("\n", ""))).toEqual([]);
  const folder = fs.mkdtempSync(path.join(testBed.folder, "twice-"));
  const node = { hostname: hostileName, ipAddress: "192.0.2.1" };
  fs.writeFileSync(path.join(folder, "talconfig.yaml"), JSON.stringify({ nodes: [node, node] }));
  const refused = await runCommand(testBed.cli, ["import", folder]);
  expect(refused.status).toBe(2);
  expect(unsafeParts(refused.stderr)).toEqual([]);
  expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
});
