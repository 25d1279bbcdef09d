import { PulumiCommand } from "@pulumi/pulumi/automation";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { LabEngineOptions } from "./options";

/** The CLI for the Automation API, which expects `bin/pulumi` below a root folder. */
export async function commandOf(pulumi: string, dir: string): Promise<PulumiCommand> {
  const bin = path.join(dir, "cli", "bin");
  await mkdir(bin, { recursive: true });
  await link(pulumi, path.join(bin, "pulumi"));
  return PulumiCommand.get({ root: path.dirname(bin) });
}

/**
 * Makes a home for the CLI (its `PULUMI_HOME`) in which it keeps no log. Otherwise each command writes a compressed and
 * encrypted log to `logs` there, for `pulumi logs` (pulumi 3.259, pkg/logging/encrypted.go): a quarter of its CPU time.
 * No setting turns that off. If `logs` is not a folder, the CLI continues without a log (pkg/cmd/pulumi/pulumi.go,
 * `StartLogging`).
 */
export async function homeWithoutLogs(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, "logs"),
    "A file instead of a folder, so that Pulumi keeps no log here.\n",
  );
  return folder;
}

/** Environment of the CLI: its own backend and, unless the published plugins are used, its own home. */
export async function environmentOf({
  dir,
  plugins,
  environment,
  checkpoints = "each",
}: LabEngineOptions): Promise<Record<string, string>> {
  const labVariables = {
    PULUMI_BACKEND_URL: `file://${path.join(dir, "state")}`,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK: "true",
  };
  if (plugins === "real") return { ...environment, ...labVariables };
  return {
    ...environment,
    ...labVariables,
    ...(await pluginsIn(await homeWithoutLogs(path.join(dir, "home")), plugins)),
    // sdk/go/common/env/env.go of pulumi 3.259; a failed or interrupted update also writes the state at its end.
    ...(checkpoints === "each" ? {} : { PULUMI_SKIP_CHECKPOINTS: "true" }),
  };
}

/**
 * Environment of a CLI with providers: ports of those that listen, and plugins in its home, laid out as by `pulumi
 * plugin install` (pulumi 3.259, sdk/go/common/workspace/plugins.go). The CLI would warn of each plugin on PATH.
 */
export async function pluginsIn(
  home: string,
  plugins: Readonly<Record<string, number | string>>,
): Promise<Record<string, string>> {
  const providerPorts: string[] = [];
  for (const [name, portOrProgram] of Object.entries(plugins)) {
    if (typeof portOrProgram === "number") providerPorts.push(`${name}:${portOrProgram}`);
    else await installPlugin(home, name, portOrProgram);
  }
  // The Kubernetes provider's Helm caches charts only by name and release, so the lab's and the real charts would be
  // mixed.
  const helmFolders = ["CACHE", "CONFIG", "DATA"].map((kind) => [
    `HELM_${kind}_HOME`,
    path.join(home, "helm", kind),
  ]);
  return {
    ...Object.fromEntries(helmFolders),
    PULUMI_HOME: home,
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    PULUMI_DEBUG_PROVIDERS: providerPorts.join(","),
  };
}

/** Puts a plugin into the CLI's home, under the release that its npm package requires. */
async function installPlugin(home: string, name: string, program: string): Promise<void> {
  const file = require.resolve(`@pulumi/${name}/package.json`);
  const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
  const folder = path.join(home, "plugins", `resource-${name}-v${version}`);
  await mkdir(folder, { recursive: true });
  await link(program, path.join(folder, `pulumi-resource-${name}`));
}

async function link(program: string, target: string): Promise<void> {
  await symlink(program, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}
