import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { programCommandHere } from "./command";
import { defined } from "../../recipe/mapping";
import type { Secrets } from "../../credentials/access";
import { type Credential, credentials } from "../../credentials/credentials";

/** How a resource runs the machine program. */
export interface ProgramUse {
  /** Verb on create and update. */
  verb: string;
  /** Verb on delete. Default: nothing runs. */
  deleteVerb?: string;
  /** Task as JSON text. Not secret: it shows in previews. */
  task: pulumi.Input<string>;
  /**
   * Credentials that the verb needs. If a credential is not in `secrets`, the program must find it in its own
   * environment.
   */
  neededCredentials: readonly Credential[];
  secrets: Secrets;
  /** Limit of one run, a Go duration. */
  limit: string;
  /** Text whose change makes the program run again. Default none. */
  reconcileToken?: string | undefined;
  /** If one of these values changes, Pulumi replaces the resource. Default none. */
  triggers?: string[];
  /**
   * True if the verb does not need the output of its last run, so that Pulumi does not pass this output. Pulumi would
   * pass it in an environment variable. With a thousand machines the output may be longer than 128 KiB, and no later
   * run could then start (Linux, execve: MAX_ARG_STRLEN). Default: the verb needs the output, which lists the additions
   * to remove.
   */
  forgets?: boolean;
  /** True if the output may contain a secret, so that Pulumi encrypts it in the state. Default false. */
  answersSecret?: boolean;
}

/** The machine program as a resource. The program runs again if its task, its command or its credentials change. */
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
            use.neededCredentials.map((name) => [
              `TALOS_GPU_${credentials[name].variable}`,
              use.secrets[name],
            ]),
          ),
        ),
      },
      logging: command.local.Logging.Stderr,
      ...(use.forgets ? { addPreviousOutputInEnv: false } : {}),
    },
    {
      // Deleting the old resource last would remove the changes of its replacement.
      ...(use.deleteVerb === undefined ? {} : { deleteBeforeReplace: true }),
      ...(use.answersSecret ? { additionalSecretOutputs: ["stdout"] } : {}),
      ...opts,
      customTimeouts: { create: use.limit, update: use.limit, delete: use.limit },
    },
  );
}

/**
 * The program's answer: the last line of its standard output. The answer is not secret. The provider marks it as secret
 * only because the program's environment contains secrets.
 */
export const answerOf = <T>(
  program: command.local.Command,
  read: (answer: unknown) => T,
): pulumi.Output<T> =>
  pulumi
    .unsecret(program.stdout)
    .apply((stdout) => read(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")));
