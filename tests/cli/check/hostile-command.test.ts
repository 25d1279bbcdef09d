import * as fs from "node:fs";
import * as path from "node:path";
import { acting, hostileName } from "../hostile";
import { cliStand, runCommand } from "../stand";
import { hostileFolder } from "./hostile-folder";

const stand = cliStand();

test("the command escapes hostile names in its output and its errors", async () => {
  const { stdout, stderr, status } = await runCommand(stand.cli, [
    "check",
    hostileFolder(stand.folder),
  ]);
  expect(status).toBe(1);
  expect([acting(stdout), acting(stderr)]).toEqual([[], []]);
  const error = await runCommand(stand.cli, ["check", `--format=${hostileName}`, "x"]);
  expect(error.status).toBe(2);
  expect(acting(error.stderr.replaceAll("\n", ""))).toEqual([]);
  const folder = fs.mkdtempSync(path.join(stand.folder, "twice-"));
  const node = { hostname: hostileName, ipAddress: "192.0.2.1" };
  fs.writeFileSync(path.join(folder, "talconfig.yaml"), JSON.stringify({ nodes: [node, node] }));
  const refused = await runCommand(stand.cli, ["import", folder]);
  expect([refused.status, acting(refused.stderr)]).toEqual([2, []]);
  expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
});
