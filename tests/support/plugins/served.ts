import * as fs from "node:fs";
import type { LabProvider } from "../../../lab/providers/provider";
import { serveProvider } from "../../../lab/providers/serve";

/**
 * Serves a provider as a plugin's program does, which says on its first line where it listens (pulumi/pulumi v3.259.0,
 * sdk/go/common/resource/plugin/plugin.go, newPlugin). Its process id goes into the file PLUGIN_PIDS, and the folder that it was
 * started in next to it.
 */
export function serveAsPlugin(name: string, provider: LabProvider): void {
  const pids = process.env["PLUGIN_PIDS"];
  if (pids !== undefined) fs.appendFileSync(pids, `${process.pid} ${name} ${process.cwd()}\n`);
  void serveProvider(provider).then(({ port }) => console.log(port));
}
