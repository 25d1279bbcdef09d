import { type Cause, causes } from "../../components/diagnosis/causes/index";
import type { Fix } from "../../components/diagnosis";
import { checks } from "../../components/recipe/index";

const intro = `# Troubleshooting: NVIDIA GPUs on Talos Linux

What goes wrong, what is printed then, why, and what to do. Ask a live cluster which of it is yours (nothing is changed):

    npx talos-gpu doctor --kubeconfig FILE --talosconfig FILE [--stack NAME]

It says what is unlike the stack's plan (without one, unlike any cluster that offers GPUs) with the last words of whatever
crashes, then the known causes, which are these. It ends with 0 when all is well, 1 when something was found, and 2 when
something could not be looked at, which it names: an API that does not answer, a login page in its place, an expired or
foreign kubeconfig or talosconfig, a talosctl that is none.

A stack of this package has the remedies built in. \`npm run lab -- --without FIX\` leaves one out and shows the failure without
hardware.
`;

/** The troubleshooting page (Markdown): a section per failure. */
export function troubleshootingPage(fixes: readonly Fix[]): string {
  return [intro, ...fixes.map(section), stopped, drifted, others, ...Object.entries(causes).map(causeSection)].join(
    "\n",
  );
}

/** Every command in here is run by tests/e2e/failures/killed.test.ts; the copy of a state by tests/lab/engine/cut-off.test.ts. */
const stopped = `# Killed, locked, pending, stuck in Helm

An update may be stopped anywhere, by Ctrl-C or by a computer that goes off: \`pulumi up\` goes on where it was, with no reboot
more than one. What a killed update left in the cluster and Pulumi did not write down, it knows by its mark (the annotation
\`talos-gpu/owner\`), takes it away and makes it anew; nothing of anybody else's is touched.

### error: the stack is currently locked by 1 lock(s)

**Cause.** Pulumi was killed, and a backend of files or a bucket keeps its lock; or somebody else's update goes on.

**Remedy.** See that nobody's does. \`pulumi cancel --yes\`, then \`pulumi up\`.

### warning: Attempting to deploy or update resources with 5 pending operations

**Cause.** What Pulumi was at when it was killed; it says so at every update, also when all is well again.

**Remedy.** \`pulumi up\`; when that has ended well, \`pulumi refresh --clear-pending-creates --yes\`.

### error: failed to load checkpoint: … unexpected end of JSON input, or EOF

**Cause.** The computer went off while a backend of files wrote the state: \`.pulumi/stacks/PROJECT/STACK.json\` is empty or cut off.

**Remedy.** \`cp STACK.json.bak STACK.json\` in that folder, which is the state of a moment before, then \`pulumi up\`.

### was left by an update that was killed, and holds …

**Cause.** A namespace or a volume that Pulumi lost, and in which there is something since; it is not deleted.

**Remedy.** Take it into the stack: \`pulumi refresh --import-pending-creates 'URN' --import-pending-creates 'NAMESPACE/NAME' --yes\`, with the URN from the warning of pending operations, then \`pulumi up\`.

### is in the cluster already, made by …; or: and is not this stack's

**Cause.** Another stack, another state of the same stack, or a person made an object of that name.

**Remedy.** Give one of the two another name or namespace. Of a renamed resource, an alias.

### Helm release …: pending-install or pending-upgrade, left by an update that was killed

**Cause.** Helm was killed in the middle, and its record says that it goes on; by itself Helm would refuse for ever.

**Remedy.** Nothing more than \`pulumi up\`, which says this: it goes on from the revision before, over what is there.
`;

/** What no update sees by itself. */
const drifted = `# Changed by hand

An update trusts the state of the one before: what somebody deletes or changes by hand, it does not see. The doctor does:

    npx talos-gpu doctor --kubeconfig FILE --talosconfig FILE --stack NAME

**Remedy.** Write another word as \`lookAgain\` into the stack's file, such as the day, and bring the stack up. The preview names what
is looked at, and of each machine on what a reboot hangs; what is as it shall be is left as it is.

    talos-gpu:lookAgain: "2026-11-22"

    pulumi preview
    pulumi up

| what somebody did | what the update does |
|---|---|
| deleted a RuntimeClass, a smoke test's Job, a workload's Deployment, a namespace's label | puts the object back; the test runs again |
| took a label or a taint off a node | puts it back |
| deleted the DaemonSet of the release | Helm upgrades the release to what it is, which makes it anew |
| staged a configuration for the next boot of a machine | owned: stages the stack's own, without a reboot; adopted: keeps what its owner staged, and reboots a GPU machine once to bring it |
| brought another image onto a machine, or installed it anew | brings the stack's configuration and image, with one reboot; stops before, where the machine would lose something that the stack does not list |

The word may stay in the file; only a change of it counts. With 100 machines it adds 0.2 s to the 3.1 s of CPU in which the program
registers them (mean of four, \`node lab/bundle/run.js bench/register.ts again 100\`); beside that each machine is looked at by a program
of its own, as in any update of it, so many at a time as \`upgrade.maxParallel\` says.

What Pulumi's own options do: \`pulumi up --refresh\` asks Kubernetes for
each object and makes anew what is gone, and sees neither machines nor what is inside the release; \`pulumi up --replace URN\` makes
one resource anew, whatever it is like, but for a namespace: its preview is refused, since what is in it would be lost. An object that is gone and is to change in the same update needs \`--refresh\`. So does a
release that somebody uninstalled.
`;

const others = `# What no fix of a stack prevents

Somebody, or another program, brings these about.

A pod of RuntimeClass \`nvidia\` that requests no \`nvidia.com/gpu\` sees every card all the same, if its image sets
\`NVIDIA_VISIBLE_DEVICES=all\`, as CUDA images do; the doctor names such pods in a note. Request the resource, or set the
variable to \`void\`. A plain image without the variable sees none.
`;

function causeSection([id, { symptom, errors, cause, remedy, source }]: [string, Cause]): string {
  return [
    `## ${capital(symptom)}`,
    "",
    "```text",
    ...errors,
    "```",
    "",
    `**Cause.** ${capital(cause)}.`,
    "",
    `**Remedy.** ${capital(remedy)}.`,
    "",
    `Called \`${id}\`. Source: ${source}.`,
    "",
  ].join("\n");
}

function section({ id, symptom, errors, cause, does, inForce, source, check }: Fix): string {
  const refused = checks.find((candidate) => candidate.id === check);
  return [
    `## ${capital(symptom)}`,
    "",
    ...(errors && errors.length > 0 ? ["```text", ...errors, "```", ""] : []),
    `**Cause.** ${capital(cause)}.`,
    "",
    `**Remedy.** See to it that ${does}. A stack of this package does.`,
    "",
    ...(inForce === undefined ? [] : [`Seen in such a stack all the same: ${inForce}.`, ""]),
    `Fix \`${id}\`${refused ? `; what undoes it is refused at preview by the check \`${refused.id}\`` : ""}. Source: ${source}.`,
    "",
  ].join("\n");
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
