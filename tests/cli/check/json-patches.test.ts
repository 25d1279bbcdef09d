import * as fs from "node:fs";
import * as path from "node:path";
import { stringify } from "yaml";
import { check } from "../../../cli/check/verb";
import { runVerb, makeTemporaryFolder } from "../support";

const folder = makeTemporaryFolder();
afterAll(() => fs.rmSync(folder, { recursive: true }));

describe("a JSON patch that adds an existing member", () => {
  const item = (name: string) => ({ op: "create", path: `/var/${name}`, content: "a" });
  const part = {
    op: "create",
    path: "/etc/cri/conf.d/20-customization.part",
    content: "[metrics]\n",
  };
  const merged = stringify({ machine: { files: [item("a"), part], sysctls: { a: "1" } } });
  const patchOf = (path: string, value: unknown, op = "add") => stringify([{ op, path, value }]);
  const stdoutOf = async (...patches: string[]) => {
    const node = { hostname: "gpu", ipAddress: "192.0.2.1", controlPlane: true };
    const text = stringify({ talosVersion: "v1.11.5", nodes: [{ ...node, patches }] });
    const file = path.join(folder, "talconfig.yaml");
    fs.writeFileSync(file, text);
    return (await runVerb("check", check, [file])).stdout;
  };

  test("replaces the member (RFC 6902), so that no file is written twice", async () => {
    expect(await stdoutOf(merged, patchOf("/machine/files", [item("a"), part]))).toBe("");
    expect(
      await stdoutOf(patchOf("/machine/files", [part]), patchOf("/machine/files", [part])),
    ).toBe("");
    expect(await stdoutOf(merged, patchOf("/machine/files", [part], "replace"))).toBe("");
  });

  test("appends to the list with the index -, as a merge patch does, so that a file is written twice", async () => {
    const appended = await stdoutOf(merged, patchOf("/machine/files/-", part));
    expect(appended).toContain("20-customization.part is written again");
    expect(await stdoutOf(merged, merged)).toContain("/var/a is written 2 times");
  });

  test("does not change the effect of later patches", async () => {
    const stdout = await stdoutOf(patchOf("/machine/files", [part]), merged);
    expect(stdout).toContain("20-customization.part is written again");
  });
});
