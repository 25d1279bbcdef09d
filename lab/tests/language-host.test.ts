import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { installLanguageHost, standInHosts } from "../language-host";

// Pulumi's own host for Node is the one, where the CLI has it beside itself; the lab's stands in for it elsewhere.

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-host-"));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

/** A CLI in a folder, with programs beside it, and a link to it: the lab starts the CLI by a link. */
function cliWith(name: string, ...beside: string[]): { cli: string; link: string } {
  const cli = path.join(folder, name);
  fs.mkdirSync(cli);
  for (const each of ["pulumi", ...beside]) fs.writeFileSync(path.join(cli, each), "", { mode: 0o755 });
  const link = path.join(folder, `link-${name}`);
  fs.symlinkSync(path.join(cli, "pulumi"), link);
  return { cli, link };
}

test("a CLI without a host beside it gets the stand-in", async () => {
  const hosts = path.join(folder, "hosts");
  expect(await installLanguageHost(hosts, cliWith("alone").link)).toBe(hosts);
  expect(fs.readdirSync(hosts)).toEqual(["pulumi-language-nodejs"]);
});

test("a CLI with its own host keeps it", async () => {
  const { cli, link } = cliWith("whole", "pulumi-language-nodejs");
  expect(await installLanguageHost(path.join(folder, "none"), link)).toBe(cli);
  expect(fs.existsSync(path.join(folder, "none"))).toBe(false);
});

test("SDKs are made by a stand-in for each language", async () => {
  const hosts = await standInHosts(path.join(folder, "generators"), ["nodejs", "python"], "/it's/generate-sdk");
  expect(fs.readdirSync(hosts)).toEqual(["pulumi-language-nodejs", "pulumi-language-python"]);
  const launcher = fs.readFileSync(path.join(hosts, "pulumi-language-python"), "utf8");
  expect(launcher).toContain(`LANGUAGE_HOST_GENERATOR='/it'\\''s/generate-sdk' LANGUAGE_HOST_OF=python exec `);
});
