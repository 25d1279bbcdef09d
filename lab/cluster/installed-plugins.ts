import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { programOnPath } from "../on-path";

const run = promisify(execFile);

/** A provider plugin that the stacks' program needs. */
export interface NeededPlugin {
  name: string;
  version: string;
  /** Where it comes from, when not from Pulumi's own releases. */
  server?: string;
}

/** Packages whose resources the stacks register. */
const packages = ["@pulumi/kubernetes", "@pulumi/command", "@pulumiverse/talos"];

/** The plugins of the stacks' program, as its packages name them. */
export function neededPlugins(folder: string): NeededPlugin[] {
  return packages.map((name) => {
    const file = path.join(folder, "node_modules", name, "package.json");
    const { version, pulumi = {} } = JSON.parse(fs.readFileSync(file, "utf8")) as {
      version: string;
      pulumi?: { name?: string; version?: string; server?: string };
    };
    const server = pulumi.server === undefined ? {} : { server: pulumi.server };
    return { name: pulumi.name ?? path.basename(name), version: pulumi.version ?? version, ...server };
  });
}

/**
 * Looks whether the engine finds the plugins that it will start: on PATH, where it takes one of any version, or among those
 * that `pulumi plugin ls` lists (pulumi/pulumi v3.259.0, sdk/go/common/workspace/plugins.go, GetPluginPath).
 *
 * @throws Error that names what is missing, with the command that installs it.
 */
export async function assertInstalled(
  pulumi: string,
  needed: readonly NeededPlugin[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const onPath = ({ name }: NeededPlugin): boolean =>
    programOnPath(`pulumi-resource-${name}`, environment) !== undefined;
  const rest = needed.filter((plugin) => !onPath(plugin));
  if (rest.length === 0) return;
  const { stdout } = await run(pulumi, ["plugin", "ls", "--json"], { env: environment });
  const installed = JSON.parse(stdout) as { name: string; kind: string; version: string }[];
  const missing = rest.filter(
    ({ name, version }) =>
      !installed.some(
        (one) => one.kind === "resource" && one.name === name && one.version === version.replace(/^v/, ""),
      ),
  );
  if (missing.length === 0) return;
  const commands = missing.map(
    ({ name, version, server }) =>
      `pulumi plugin install resource ${name} ${version}${server === undefined ? "" : ` --server ${server}`}`,
  );
  throw new Error(
    `--pulumi: ${missing.map(({ name, version }) => `${name} ${version}`).join(", ")} not installed, and the stack's resources are theirs; ${commands.join("; ")}`,
  );
}
