import { PulumiCommand } from "@pulumi/pulumi/automation";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { LabEngineOptions } from "./options";

/** The CLI as the Automation API wants it, which looks for `bin/pulumi` below a root. */
export async function commandOf(pulumi: string, dir: string): Promise<PulumiCommand> {
  const bin = path.join(dir, "cli", "bin");
  await mkdir(bin, { recursive: true });
  await symlink(pulumi, path.join(bin, "pulumi")).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return PulumiCommand.get({ root: path.dirname(bin) });
}

/**
 * Makes a home for the CLI in which it keeps no log. Otherwise each command writes all that it does, compressed and encrypted, to
 * `logs` in its home, for `pulumi logs` (pulumi 3.259, pkg/logging/encrypted.go): a quarter of its CPU time. No setting turns that
 * off; where `logs` is no folder, it goes on without (pkg/cmd/pulumi/pulumi.go, `StartLogging`).
 *
 * @param folder made where it is not there
 * @returns the folder, for `PULUMI_HOME`
 */
export async function homeWithoutLogs(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "logs"), "A file, so that Pulumi keeps no log here: nobody reads a lab's.\n");
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
    PULUMI_HOME: await homeWithoutLogs(path.join(dir, "home")),
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    // sdk/go/common/env/env.go of pulumi 3.259; a failed or interrupted update ends by writing what came of it, too.
    ...(checkpoints === "each" ? {} : { PULUMI_SKIP_CHECKPOINTS: "true" }),
    PULUMI_DEBUG_PROVIDERS: Object.entries(plugins)
      .map(([name, port]) => `${name}:${port}`)
      .join(","),
  };
}
