import * as fs from "node:fs";
import type { LabProvider } from "../../../lab/providers/provider";
import { serveProvider } from "../../../lab/providers/serve";

/**
 * Serves a provider as a plugin does: its first line of output is the port on which it listens (pulumi/pulumi
 * v3.259.0, sdk/go/common/resource/plugin/plugin.go, newPlugin). It writes its process id and its working folder
 * into the file PLUGIN_PIDS.
 */
export function serveAsPlugin(name: string, provider: LabProvider): void {
  const pids = process.env["PLUGIN_PIDS"];
  if (pids !== undefined) fs.appendFileSync(pids, `${process.pid} ${name} ${process.cwd()}\n`);
  void serveProvider(provider).then(({ port }) => console.log(port));
}
