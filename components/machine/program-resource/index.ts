import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { programCommandHere } from "./command";
import { defined } from "../../recipe/mapping";
import type { Secrets } from "../../credentials/access";
import { type Credential, credentials } from "../../credentials/credentials";

/** One use of the machine program. */
export interface ProgramUse {
  /** Verb on create and update. */
  verb: string;
  /** Verb on delete. Default: nothing is done. */
  deleteVerb?: string;
  /** Task as JSON text. Not secret: it shows in previews. */
  task: pulumi.Input<string>;
  /**
   * Credentials that it works with. Those that are not among the secrets are left to the variables of its
   * environment.
   */
  needs: readonly Credential[];
  secrets: Secrets;
  /** Limit of one run, a Go duration. */
  limit: string;
  /** Text whose change makes it run again. Default none. */
  reconcileToken?: string | undefined;
  /** Values whose change replaces the resource. Default none. */
  triggers?: string[];
  /**
   * Whether the verb has no use for what its last run said. That comes by environment, where a text over 128 KiB
   * keeps every later run from starting (Linux, execve: MAX_ARG_STRLEN), and a line for each of a thousand machines
   * is longer. Default: it has, since it must know what was added to take it away.
   */
  forgets?: boolean;
}

/** The machine program as a resource: runs when its task, its text or its credentials change. */
export function runProgram(
  name: string,
  use: ProgramUse,
  opts: pulumi.CustomResourceOptions,
): command.local.Command {
  const text = programCommandHere(use.verb);
  return new command.local.Command(
    name,
    {
      create: text,
      update: text,
      ...defined({
        delete: use.deleteVerb && programCommandHere(use.deleteVerb),
        triggers: use.triggers,
      }),
      stdin: use.task,
      environment: {
        ...defined({ TALOS_GPU_RECONCILE_TOKEN: use.reconcileToken }), // the program itself has no use for it
        ...defined(
          Object.fromEntries(
            use.needs.map((name) => [`TALOS_GPU_${credentials[name].variable}`, use.secrets[name]]),
          ),
        ),
      },
      logging: command.local.Logging.Stderr,
      ...(use.forgets ? { addPreviousOutputInEnv: false } : {}),
    },
    {
      // The removal of the old resource would take away the changes of its replacement.
      ...(use.deleteVerb === undefined ? {} : { deleteBeforeReplace: true }),
      ...opts,
      customTimeouts: { create: use.limit, update: use.limit, delete: use.limit },
    },
  );
}

/**
 * The program's answer: the last line of its standard output. Not secret, whatever the provider makes of the secrets
 * in its environment.
 */
export const answerOf = <T>(
  program: command.local.Command,
  read: (answer: unknown) => T,
): pulumi.Output<T> =>
  pulumi
    .unsecret(program.stdout)
    .apply((stdout) => read(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")));
