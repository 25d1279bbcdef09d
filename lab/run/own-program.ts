import * as path from "node:path";
import type { Lab } from "../cluster/lab";
import { homeWithoutLogs, pluginsIn } from "../engine/cli";
import { installLanguageHost } from "../language-host";
import { commandEnvironment, servePlugins } from "./updates";

/** Variables that lead a program of the user's own, and each tool that it runs, to a lab. */
export async function environmentForOwnProgram(
  lab: Lab,
  folder: string,
): Promise<Record<string, string>> {
  const { session, tools, controlPlane } = lab;
  const host = await installLanguageHost(session.dir("language-host"), tools.pulumi);
  const plugins = await servePlugins(lab, folder);
  const { PATH = "", ...inLab } = commandEnvironment(lab);
  const leading = Object.entries(inLab).filter(
    ([name]) => name.startsWith("TALOS_GPU_") && name !== "TALOS_GPU_LAB",
  );
  return {
    PATH: [host, path.dirname(tools.pulumi), PATH].join(path.delimiter),
    KUBECONFIG: controlPlane.adminKubeconfig,
    TALOSCONFIG: session.dir("talosconfig"),
    TALOS_GPU_TALOSCTL: tools.talosctl,
    ...Object.fromEntries(leading),
    ...(await pluginsIn(await homeWithoutLogs(session.dir("home")), plugins)),
    PULUMI_BACKEND_URL: `file://${session.dir()}`,
    PULUMI_CONFIG_PASSPHRASE: "of the lab",
    PULUMI_SKIP_UPDATE_CHECK: "true",
  };
}

/** A variable's line for a shell. The lab's folders come first on PATH, before the existing ones. */
function exported([name, value]: [string, string], inherited: string | undefined): string {
  const behind = name === "PATH" && inherited ? `${path.delimiter}${inherited}` : undefined;
  if (behind !== undefined && value.endsWith(behind))
    return `export PATH=${quoted(value.slice(0, -behind.length))}${path.delimiter}"$PATH"`;
  return `export ${name}=${quoted(value)}`;
}

/** As a shell takes it for one word. */
const quoted = (text: string): string =>
  /^[\w./:,=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Text for a program of the user's own. */
export function waysForOwnProgram(
  environment: Record<string, string>,
  { folder, secrets, inherited = process.env["PATH"] }: OwnProgram,
): string {
  const lines = Object.entries(environment).map((entry) => `  ${exported(entry, inherited)}`);
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

/** A program of the user's own. */
interface OwnProgram {
  /** Where its Pulumi.yaml is. */
  folder: string;
  /** Secrets of the machines' configurations; undefined where the stack makes the cluster. */
  secrets: string | undefined;
  /** Default: this process' PATH. */
  inherited?: string | undefined;
}
