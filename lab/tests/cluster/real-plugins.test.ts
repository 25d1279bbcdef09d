import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { assertInstalled, neededPlugins } from "../../cluster/installed-plugins";
import { parseOptions } from "../../options";
import { repository } from "../../../stacks/stack-file";

// `npm run lab -- --pulumi installed` as far as it goes where no plugin is installed: what is missing is named, and one on PATH is
// found. tests/e2e/pulumi/plugins.test.ts goes further.

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-plugins-"));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** A `pulumi` that lists these plugins. */
function pulumiWith(name: string, plugins: object[]): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, `#!/bin/sh\ncat <<'END'\n${JSON.stringify(plugins)}\nEND\n`, { mode: 0o755 });
  return file;
}

const needed = neededPlugins(repository);

test("the plugins of the stacks are those of their packages", () => {
  expect(needed.map(({ name }) => name)).toEqual(["kubernetes", "command", "talos"]);
  for (const { version } of needed) expect(version).toMatch(/^v?\d+\.\d+\.\d+/);
});

test("what is missing is named, with the command that installs it", async () => {
  const [kubernetes, command] = needed;
  const listed = [
    { name: "kubernetes", kind: "resource", version: kubernetes!.version.replace(/^v/, "") },
    { name: "command", kind: "resource", version: "0.0.1" },
    { name: "talos", kind: "language", version: "1.0.0" },
  ];
  const found = assertInstalled(pulumiWith("some", listed), needed, { PATH: "/usr/bin:/bin" });
  await expect(found).rejects.toThrow(
    `--pulumi: command ${command!.version}, talos ${needed[2]!.version} not installed, and the stack's resources are theirs; pulumi plugin install resource command ${command!.version}; `,
  );
});

test("one on PATH is taken, as the engine takes it", async () => {
  const bin = fs.mkdtempSync(path.join(folder, "bin-"));
  for (const { name } of needed) fs.writeFileSync(path.join(bin, `pulumi-resource-${name}`), "", { mode: 0o755 });
  await assertInstalled(pulumiWith("none", []), needed, { PATH: `${bin}:/usr/bin:/bin` });
  fs.chmodSync(path.join(bin, "pulumi-resource-talos"), 0o644);
  await expect(assertInstalled(pulumiWith("none", []), needed, { PATH: `${bin}:/usr/bin:/bin` })).rejects.toThrow(
    "talos",
  );
});

test("of a word that an option does not have, it says what it decides", () => {
  expect(parseOptions(["--pulumi", "installed"])).toMatchObject({ pulumi: "installed", machines: "emulated" });
  expect(parseOptions([])).toMatchObject({ pulumi: "lab", machines: "emulated" });
  expect(() => parseOptions(["--pulumi", "real"])).toThrow(
    /^--pulumi: real is unknown; .*take lab, host or installed$/,
  );
});

test.each([
  ["--pulumi", "installed"],
  ["--pulumi", "host"],
])("nothing can be left out with %s %s: it would be left in, in silence", (...more) => {
  expect(() => parseOptions(["--without", "nodeSelector", ...more])).toThrow(/^--without: .*leaves nothing out/);
});
