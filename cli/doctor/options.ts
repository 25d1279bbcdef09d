import { parseArgs } from "node:util";

/** What `npm run doctor` was asked to do. */
export interface DoctorOptions {
  /** Path of the kubeconfig; undefined takes KUBECONFIG or the user's default, as kubectl does. */
  kubeconfig?: string;
  /** Path of the talosconfig; undefined leaves the machines out. */
  talosconfig?: string;
  /** Stack whose plan the cluster is held against. */
  stack?: string;
  json: boolean;
  help: boolean;
}

/** Text of `--help`. */
export const usage = `npm run doctor -- [options]     looks at a live cluster and names what is wrong; changes nothing

  --kubeconfig FILE   how to reach Kubernetes (default: KUBECONFIG, or ~/.kube/config)
  --talosconfig FILE  how to reach the machines, through talosctl (default: TALOSCONFIG; without either, machines stay out)
  --stack NAME        hold the cluster against this stack's plan, by its name or its file (default: go by what is seen)
  --json              one JSON object on standard output
  --help

talosctl is taken from PATH, or from TALOS_GPU_TALOSCTL.
Exit status: 0 nothing found, 1 something found, 2 could not look.
`;

/**
 * Options from the command line.
 *
 * @param environment TALOSCONFIG names the talosconfig where no option does.
 * @throws Error with a message for the user when an option is unknown.
 */
export function parseOptions(argv: readonly string[], environment: NodeJS.ProcessEnv): DoctorOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      kubeconfig: { type: "string" },
      talosconfig: { type: "string" },
      stack: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const talosconfig = values.talosconfig ?? (environment.TALOSCONFIG || undefined);
  return {
    json: values.json,
    help: values.help,
    ...(values.kubeconfig === undefined ? {} : { kubeconfig: values.kubeconfig }),
    ...(talosconfig === undefined ? {} : { talosconfig }),
    ...(values.stack === undefined ? {} : { stack: values.stack }),
  };
}
