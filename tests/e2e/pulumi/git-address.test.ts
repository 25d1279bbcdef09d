import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { installStandInHost } from "../../../lab/language-host";
import { provideLanguages, provideTools } from "../../../lab/tools";
import { repository } from "../../../stacks/stack-file";
import { gitIn } from "../../support/git";
import { generateSdk, publishedSchema, sdkLanguages } from "../../support/packages/generated-sdk";
import { type GitServer, serveGit } from "../../support/packages/git-server";

// `pulumi package add` with the address of a Git repository, by Pulumi's own CLI: it clones the repository, installs
// its dependencies with npm, which also builds the package, and asks the plugin for its schema.

const host = "git.example.com";
const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-git-address-")));
let server: GitServer;
let commit: string;
beforeAll(async () => {
  commit = createBareRepository(path.join(home, "git/acme/talos-gpu.git"));
  server = await serveGit(path.join(home, "git"), host);
});
afterAll(async () => {
  await server?.close();
  fs.rmSync(home, { recursive: true, force: true });
});

/**
 * Makes a bare repository whose only commit has the present sources: all files of this checkout that Git does not
 * ignore.
 *
 * @returns the commit.
 */
function createBareRepository(folder: string): string {
  const git = gitIn(repository);
  git("init", "--quiet", "--bare", folder);
  const inFolder = [`--git-dir=${folder}`, `--work-tree=${repository}`];
  git(...inFolder, "add", "--all");
  git(...inFolder, "commit", "--quiet", "--message", "Sources");
  return git(...inFolder, "rev-parse", "HEAD").trim();
}

test("a YAML program adds the package by a Git address, and its SDKs equal those of sdk/schema.json but for account and version", async () => {
  const { pulumi } = await provideTools({ only: ["pulumi"] });
  const languages = await provideLanguages();
  const nodeHost = await installStandInHost(path.join(home, "host"));
  const program = path.join(home, "program");
  fs.mkdirSync(program);
  fs.writeFileSync(path.join(program, "Pulumi.yaml"), "name: gpus\nruntime: yaml\n");
  const run = async (...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(pulumi, ["-C", program, ...args], {
      maxBuffer: 2 ** 26,
      env: {
        ...process.env,
        ...server.environment,
        PATH: [nodeHost, languages, process.env["PATH"]].join(path.delimiter),
        PULUMI_HOME: path.join(home, "pulumi"),
        PULUMI_SKIP_UPDATE_CHECK: "true",
        // The packages that this checkout uses are in npm's cache.
        npm_config_prefer_offline: "true",
      },
    });
    return stdout;
  };
  const address = `https://${host}/acme/talos-gpu.git/components@${commit}`;

  await run("package", "add", address);

  expect(server.requests).toContain("/acme/talos-gpu.git/info/refs?service=git-upload-pack");
  const project = parse(fs.readFileSync(path.join(program, "Pulumi.yaml"), "utf8")) as {
    packages: Record<string, string>;
  };
  expect(project.packages).toEqual({ "talos-gpu": expect.stringContaining(host) as unknown });
  const { namespace, version, pluginDownloadURL, ...schema } = JSON.parse(
    await run("package", "get-schema", address),
  ) as Record<string, unknown>;
  // docs/installation-configuration.md: the SDK's names contain the account's name.
  expect(namespace).toBe("acme");
  // Pulumi gives a commit the version 0.0.0 with the commit as its pre-release (sdk/go/common/workspace/plugins.go).
  expect(version).toBe(`0.0.0-x${commit}`);
  expect(pluginDownloadURL).toBe(`git://${host}/acme/talos-gpu.git/components`);
  const expected = JSON.parse(fs.readFileSync(publishedSchema, "utf8")) as Record<string, unknown>;
  const schemaFile = path.join(home, "schema.json");
  fs.writeFileSync(
    schemaFile,
    JSON.stringify({
      ...schema,
      namespace: expected["namespace"],
      version: expected["version"],
      pluginDownloadURL: expected["pluginDownloadURL"],
    }),
  );
  for (const language of sdkLanguages)
    expect(await generateSdk({ schema: schemaFile, language, languages })).toEqual(
      await generateSdk({ schema: publishedSchema, language, languages }),
    );
});
