import * as path from "node:path";
import type { Lab } from "../cluster/lab";
import { homeWithoutLogs, pluginsIn } from "../engine/cli";
import { installLanguageHost } from "../language-host";
import { commandEnvironment, servePlugins } from "./updates";

/** Environment variables with which a user's own program, and each tool that it runs, uses the lab. */
export async function environmentForOwnProgram(
  lab: Lab,
  folder: string,
): Promise<Record<string, string>> {
  const { session, tools, controlPlane } = lab;
  const host = await installLanguageHost(session.dir("language-host"), tools.pulumi);
  const plugins = await servePlugins(lab, folder);
  const { PATH = "", ...labEnvironment } = commandEnvironment(lab);
  const labSettings = Object.entries(labEnvironment).filter(
    ([name]) => name.startsWith("TALOS_GPU_") && name !== "TALOS_GPU_LAB",
  );
  return {
    PATH: [host, path.dirname(tools.pulumi), PATH].join(path.delimiter),
    KUBECONFIG: controlPlane.adminKubeconfig,
    TALOSCONFIG: session.dir("talosconfig"),
    TALOS_GPU_TALOSCTL: tools.talosctl,
    ...Object.fromEntries(labSettings),
    ...(await pluginsIn(await homeWithoutLogs(session.dir("home")), plugins)),
    PULUMI_BACKEND_URL: `file://${session.dir()}`,
    PULUMI_CONFIG_PASSPHRASE: "of the lab",
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
}

/** A variable's line for a shell. The lab's folders come first on PATH, before the existing ones. */
function exportLine([name, value]: [string, string], inherited: string | undefined): string {
  const inheritedSuffix =
    name === "PATH" && inherited ? `${path.delimiter}${inherited}` : undefined;
  if (inheritedSuffix !== undefined && value.endsWith(inheritedSuffix))
    return `export PATH=${quoted(value.slice(0, -inheritedSuffix.length))}${path.delimiter}"$PATH"`;
  return `export ${name}=${quoted(value)}`;
}

/** Quotes a text for a shell, as one argument. */
const quoted = (text: string): string =>
  /^[\w./:,=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Instructions for a user who runs an own program against the lab. */
export function ownProgramInstructions(
  environment: Record<string, string>,
  { folder, secrets, inherited = process.env["PATH"] }: OwnProgram,
): string {
  const lines = Object.entries(environment).map((entry) => `  ${exportLine(entry, inherited)}`);
  return `The cluster runs until Ctrl-C. In another terminal:

  cd ${quoted(folder)}
${lines.join("\n")}

Then, for a new stack:

  pulumi stack init lab
  pulumi config set --secret kubeconfig < "$KUBECONFIG"
  pulumi config set --secret talosconfig < "$TALOSCONFIG"
${secrets === undefined ? "" : `  pulumi config set --secret machineSecrets < ${quoted(secrets)}\n`}  pulumi up
`;
}

/** A Pulumi program that the user wrote. */
interface OwnProgram {
  /** Folder with its Pulumi.yaml. */
  folder: string;
  /** File with the secrets of the machines' configurations; undefined if the stack bootstraps the cluster. */
  secrets: string | undefined;
  /** Default: this process' PATH. */
  inherited?: string | undefined;
}
