import * as fs from "node:fs";
import * as path from "node:path";
import { isRunning } from "../processes";

const repository = path.join(__dirname, "../../..");

/** Provider plugins that there is a stand-in of: one of the lab's own providers, as a program. */
export type PluginName = "command" | "talos";

/** A plugin's process: its id, and the folder that the engine started it in. */
export interface PluginProcess {
  pid: number;
  name: string;
  folder: string;
}

/**
 * Writes plugins into a folder, under the names that the engine looks for on PATH.
 *
 * @returns environment in which the engine finds these and no others.
 */
export function installPlugins(
  folder: string,
  names: readonly PluginName[],
): Record<string, string> {
  const bin = path.join(folder, "bin");
  fs.mkdirSync(bin, { recursive: true });
  for (const name of names) {
    const files = ["lab/bundle/run.js", `tests/support/plugins/${name}.ts`];
    const words = [process.execPath, ...files.map((file) => path.join(repository, file))];
    const script = `#!/bin/sh\nexec ${words.map((word) => `"${word}"`).join(" ")}\n`;
    fs.writeFileSync(path.join(bin, `pulumi-resource-${name}`), script, { mode: 0o755 });
  }
  return {
    PATH: `${bin}:${process.env["PATH"]}`,
    PULUMI_HOME: path.join(folder, "home"),
    PLUGIN_PIDS: path.join(folder, "pids"),
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}

/** Every process of a folder's plugins so far. */
export function pluginProcesses(folder: string): PluginProcess[] {
  const lines = fs.readFileSync(path.join(folder, "pids"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const [pid, name, ...at] = line.split(" ");
    return { pid: Number(pid), name: name!, folder: at.join(" ") };
  });
}

/** Those that are still there. */
export function pluginsAlive(folder: string): PluginProcess[] {
  return pluginProcesses(folder).filter(({ pid }) => isRunning(pid));
}
