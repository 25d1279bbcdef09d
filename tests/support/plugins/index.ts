import * as fs from "node:fs";
import * as path from "node:path";
import { isRunning } from "../processes";

const repository = path.join(__dirname, "../../..");

/** Provider plugins with a replacement for tests: a provider of the lab that runs as a program. */
export type PluginName = "command" | "talos";

/** A plugin's process: its id, and the folder in which the engine started it. */
export interface PluginProcess {
  pid: number;
  name: string;
  folder: string;
}

/**
 * Writes plugins into a folder, with the file names that the engine looks for on PATH.
 *
 * @returns an environment in which the engine finds these plugins and no others
 */
export function installPlugins(
  folder: string,
  names: readonly PluginName[],
): Record<string, string> {
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin, { recursive: true });
  for (const name of names) {
    const files = ["lab/bundle/run.js", `tests/support/plugins/${name}.ts`];
    const command = [process.execPath, ...files.map((file) => path.join(repository, file))];
    const script = `#!/bin/sh\nexec ${command.map((word) => `"${word}"`).join(" ")}\n`;
    fs.writeFileSync(path.join(bin, `pulumi-resource-${name}`), script, { mode: 0o755 });
  }
  return {
    PATH: `${bin}:${process.env["PATH"]}`,
    PULUMI_HOME: path.join(folder, "home"),
    PLUGIN_PIDS: path.join(folder, "pids"),
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}

/** All processes that a folder's plugins have had so far. */
export function pluginProcesses(folder: string): PluginProcess[] {
  const lines = fs.readFileSync(path.join(folder, "pids"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const [pid, name, ...folderWords] = line.split(" ");
    return { pid: Number(pid), name: name!, folder: folderWords.join(" ") };
  });
}

/** The processes of a folder's plugins that still run. */
export function runningPlugins(folder: string): PluginProcess[] {
  return pluginProcesses(folder).filter(({ pid }) => isRunning(pid));
}
