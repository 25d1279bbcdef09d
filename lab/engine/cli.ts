import { PulumiCommand } from "@pulumi/pulumi/automation";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { LabEngineOptions } from "./options";

/** The CLI as the Automation API wants it, which looks for `bin/pulumi` below a root. */
export async function commandOf(pulumi: string, dir: string): Promise<PulumiCommand> {
  const bin = path.join(dir, "cli", "bin");
  await mkdir(bin, { recursive: true });
  await linked(pulumi, path.join(bin, "pulumi"));
  return PulumiCommand.get({ root: path.dirname(bin) });
}

/**
 * Makes a home for the CLI (its `PULUMI_HOME`) in which it keeps no log. Otherwise each command writes all that it does, compressed and
 * encrypted, to `logs` there, for `pulumi logs` (pulumi 3.259, pkg/logging/encrypted.go): a quarter of its CPU time. No setting turns that
 * off; where `logs` is no folder, it goes on without (pkg/cmd/pulumi/pulumi.go, `StartLogging`).
 */
export async function homeWithoutLogs(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    path.join(folder, "logs"),
    "A file, so that Pulumi keeps no log here: a lab's has no reader.\n",
  );
  return folder;
}

/** Environment of the CLI: a backend of its own; and a home of its own, but where the published plugins are asked for. */
export async function environmentOf({
  dir,
  plugins,
  environment,
  checkpoints = "each",
}: LabEngineOptions): Promise<Record<string, string>> {
  const own = {
    PULUMI_BACKEND_URL: `file://${path.join(dir, "state")}`,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK: "true",
  };
  if (plugins === "real") return { ...environment, ...own };
  return {
    ...environment,
    ...own,
    ...(await pluginsIn(await homeWithoutLogs(path.join(dir, "home")), plugins)),
    // sdk/go/common/env/env.go of pulumi 3.259; a failed or interrupted update ends by writing what came of it, too.
    ...(checkpoints === "each" ? {} : { PULUMI_SKIP_CHECKPOINTS: "true" }),
  };
}

/**
 * Environment of a CLI that has providers: those that listen, and plugins in its home, as `pulumi plugin install` puts them there
 * (pulumi 3.259, sdk/go/common/workspace/plugins.go). On PATH, it would warn of each.
 */
export async function pluginsIn(
  home: string,
  plugins: Readonly<Record<string, number | string>>,
): Promise<Record<string, string>> {
  const listening: string[] = [];
  for (const [name, at] of Object.entries(plugins)) {
    if (typeof at === "number") listening.push(`${name}:${at}`);
    else await installPlugin(home, name, at);
  }
  // The Kubernetes provider's Helm keeps charts by name and release alone, the lab's and the real ones alike.
  const helm = ["CACHE", "CONFIG", "DATA"].map((kind) => [
    `HELM_${kind}_HOME`,
    path.join(home, "helm", kind),
  ]);
  return {
    ...Object.fromEntries(helm),
    PULUMI_HOME: home,
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    PULUMI_DEBUG_PROVIDERS: listening.join(","),
  };
}

/** Puts a plugin into the CLI's home, at the release that the package of its name asks for. */
async function installPlugin(home: string, name: string, program: string): Promise<void> {
  const file = require.resolve(`@pulumi/${name}/package.json`);
  const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
  const folder = path.join(home, "plugins", `resource-${name}-v${version}`);
  await mkdir(folder, { recursive: true });
  await linked(program, path.join(folder, `pulumi-resource-${name}`));
}

async function linked(program: string, at: string): Promise<void> {
  await symlink(program, at).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}
