import { type Cause, causes } from "../components/diagnosis/causes/index";
import type { Fix } from "../components/diagnosis";
import { checks } from "../components/recipe/index";

const intro = `# Troubleshooting: NVIDIA GPUs on Talos Linux

Each section names a failure, what it prints, its cause and its remedy. The doctor tells which of them a live cluster has, and
changes nothing:

    npm run doctor -- --kubeconfig FILE --talosconfig FILE [--stack NAME]

The doctor first says where the cluster differs from the stack's plan, or, without a stack, from any cluster that offers GPUs. It
quotes the last words of whatever crashes. Then it names the known causes, which are those of this page. It ends with 0 when all
is well, with 1 when it found something, and with 2 when it found nothing but could not look at everything. It then says what it could not
look at, and why: an API that does not answer, a login page in its place, an expired or foreign kubeconfig or talosconfig, a file that is not talosctl.

A stack of this package has the remedies built in. \`npm run lab -- --without FIX\` leaves one out, and so shows the failure
without hardware.
`;

/** The troubleshooting page (Markdown): a section per failure. */
export function troubleshootingPage(fixes: readonly Fix[]): string {
  return [
    intro,
    ...fixes.map(section),
    stopped,
    back,
    drifted,
    others,
    ...Object.entries(causes).map(causeSection),
  ].join("\n");
}

/** Every command in here is run by tests/e2e/failures/killed.test.ts; the copy of a state by tests/lab/engine/cut-off.test.ts, the machine that is gone by forget.test.ts there. */
const stopped = `# Killed, locked, pending, stuck in Helm

You may stop an update anywhere, by Ctrl-C or by switching the computer off. The next \`pulumi up\` continues from what it finds, and
needs no further reboot for it: both together reboot each machine at most once (one that Omni already runs in a cluster: twice). A killed
update may have made objects that Pulumi did not record. The package knows them by its mark (the annotation \`talos-gpu/owner\`),
deletes them and makes them again. It deletes no volume claim, and no namespace that holds something: for these the update ends and says how
to go on. It does not touch objects of other owners.

### error: the stack is currently locked by 1 lock(s)

**Cause.** Pulumi was killed, and its backend (files or a bucket) kept the lock. Or somebody else's update is still running.

**Remedy.** Make sure that no update is running. \`pulumi cancel --yes\`, then \`pulumi up\`.

### warning: Attempting to deploy or update resources with 5 pending operations

**Cause.** Pulumi lists what it was doing when it was killed. It repeats the list at every update, even when all is well again.

**Remedy.** \`pulumi up\`; once that has succeeded, \`pulumi refresh --clear-pending-creates --yes\`.

### error hooks execution failed: error hook "…-fails" failed: rpc error: … connection refused

**Cause.** Ctrl-C ended the program before Pulumi could tell it which resource had stopped. Nothing else is wrong.

**Remedy.** \`pulumi up\`.

### error: failed to load checkpoint: … EOF

**Cause.** Pulumi was killed while it wrote the state to a file. The state is whole. \`STACK.json.attrs\` beside it, where Pulumi's file backend keeps a checksum, is empty or cut off.

**Remedy.** \`rm .pulumi/stacks/PROJECT/STACK.json.attrs\`, then \`pulumi up\`. Pulumi writes that file again. With \`?metadata=skip\` at the end of the backend's URL (\`file:///PATH?metadata=skip\`) it never writes one.

### error: EOF, or error: unexpected end of JSON input

**Cause.** Pulumi was killed while it wrote its lock.

**Remedy.** Make sure that no update is running. \`pulumi cancel --yes\`, then \`pulumi up\`.

### error: failed to load checkpoint: … unexpected end of JSON input

**Cause.** The computer was switched off while Pulumi wrote the state to a file: \`.pulumi/stacks/PROJECT/STACK.json\` is empty or cut off.

**Remedy.** \`cp STACK.json.bak STACK.json\` in that folder brings back the state of a moment before; then \`pulumi up\`.

### is to be replaced …, or was left by an update that was killed …, after a kill

**Cause.** Pulumi lost track of a namespace that holds something, or of a volume claim. So the package does not delete it.

**Remedy.** Take it into the stack: \`pulumi refresh --import-pending-creates 'URN' --import-pending-creates 'NAMESPACE/NAME' --yes\`, with the URN from the warning of pending operations, then \`pulumi up\`.

### is to be replaced …, and holds …, after an edit or --replace; or: holds …, and would be deleted once … is there

**Cause.** The stack now says another \`storageClass\` or another namespace for a workload that has data. Kubernetes changes neither of
a volume, so Pulumi would delete the volume and make an empty one. The preview refuses that; an update without a preview ends before
it touches a machine.

**Remedy.** Put the field back. To give the data up, take the workload out of the stack for one update, then add it again.

### is to be replaced …; … it has no volume yet, so nothing is lost: …

**Cause.** The stack now says another \`storageClass\` for a workload whose claim never got a volume, as after a mistyped class. A pod may
use the new claim before Pulumi deletes the old one, which has the same name, so the update is refused here too.

**Remedy.** Take the workload out of the stack for one update, then add it again with the right class. After a kill, take the claim into the
stack as above.

### is in the cluster already, made by …; or: and is not this stack's

**Cause.** Another stack, another state of the same stack, or a person made an object of that name. Or the stack was renamed: a stack's
cluster has the stack's name, so to a stack of another name everything is new.

**Remedy.** Give one of the two another name or namespace. If you renamed a Pulumi resource, give it an alias. If you renamed the stack,
call it as before: \`pulumi stack rename OLD-NAME\`.

### Helm release …: pending-install or pending-upgrade, left by an update that was killed

**Cause.** Helm was killed in the middle of an operation, and its record says that the operation is still running. Helm alone
would refuse every further one.

**Remedy.** Just \`pulumi up\`. The update prints this line, and upgrades from the revision before.

### error: configured Kubernetes cluster is unreachable: unable to load schema information from the API server

**Cause.** Pulumi's Kubernetes provider asks once, when the update begins. If Kubernetes did not answer then, say because its only
control plane was rebooting, the provider refuses everything until the update ends.

**Remedy.** \`pulumi up\` again, once \`kubectl get nodes\` answers. What was done on the machines stays done.

### the machine at … did not answer within 4m; or: cannot be asked: …; the machine leaves the stack, …

**Cause.** A machine was taken out of the stack, or the stack is being destroyed, and the update cannot take the stack's part out of the
machine's configuration: the machine is off or broken, was wiped, or is in another cluster. Pulumi tries again at every update, until it
succeeds. A machine of Omni's has the same when its Omni is gone, and a machine's taints when Kubernetes is gone.

**Remedy.** If the machine is still in use, switch it on, and \`pulumi up\`. If it is gone for good, have Pulumi forget it: \`pulumi stack --show-urns\`
lists the machine's resource whose URN ends with \`-configuration\` (with \`-taints\` where Kubernetes did not answer); \`pulumi state delete 'URN' --yes\`, then \`pulumi up\`, or \`pulumi destroy\`.

### A node that was deleted is there again, and is not ready

**Cause.** The node was deleted by hand before its machine was taken out of the stack. To remove its labels, Pulumi's Kubernetes provider
sends an empty server-side apply for the node. If the node no longer exists, Kubernetes creates it again.

**Remedy.** \`kubectl delete node NAME\`. Take a machine out of the stack first and delete its node then, or bring the stack up with \`--refresh\`.
`;

/** What a stack can go back from. tests/e2e/life.test.ts reverses edits of stacks that are up, and is refused a downgrade. */
const back = `# Back to an earlier image or release

**An update failed on a machine.** It finishes the machines that it is working on, starts no other, and prints the state of each. Fix the
cause that the message names, then \`pulumi up\`: it continues from what it finds. If Talos could not boot the new image, its boot loader has already gone back to the old one,
and the message says \`Talos rolled back\`. A drained node stays cordoned until an upgrade of its machine succeeds. If you reverse the failed
edit instead, change \`reconcileToken\` in the same edit: Pulumi compares with the last update that succeeded, so otherwise it finds nothing to
do for the machine. To use the node before that, run
\`kubectl uncordon NODE && kubectl annotate node NODE talos-gpu/cordoned-by-\`.

**The update succeeded, and you want the earlier state.** Reverse the edit of the stack file, then \`pulumi preview\` and \`pulumi up\`. This
works for the driver branch, extensions, kernel arguments, the machine's configuration, sharing, and the choice of operator or plugin. The
preview says which machines reboot for it.

**The Talos release** does not go back. Talos does not support downgrades, so the preview refuses an older \`talosVersion\` for each
machine that an update has already brought to the newer one, and the update refuses it by what the machine runs. To keep the other
machines on the older release, put the stack's \`talosVersion\` back, and give the upgraded machines a \`talosVersion\` of their own. Both
releases must then be on the same side of Talos 1.13. Talos' own \`talosctl rollback\` boots a machine's previous image; nobody has tried
it with this package. If the stack still names the newer release, an update that looks at the machine upgrades it again.
`;

/** What no update sees by itself. */
const drifted = `# Changed by hand

An update trusts the state of the update before, so it does not see what somebody deletes or changes by hand. The doctor does:

    npm run doctor -- --kubeconfig FILE --talosconfig FILE --stack NAME

**Remedy.** Change the text of \`reconcileToken\` in the stack's file, for example to today's date, and bring the stack up. The preview names
what the update will look at, and for each machine what a reboot depends on. The update leaves alone what is as planned.

    talos-gpu:reconcileToken: "2026-11-22"

    pulumi preview
    pulumi up

| what somebody did | what the update does |
|---|---|
| deleted a RuntimeClass, a smoke test's Job, a workload's Deployment, a namespace's label | puts the object back; the test runs again |
| took a label or a taint off a node | puts it back |
| deleted the DaemonSet of the release | Helm upgrades the release to the version that it has, which makes the DaemonSet again |
| staged a configuration for the next boot of a machine | owned: stages the stack's own, without a reboot; adopted: keeps what its owner staged, and reboots a GPU machine once to bring it |
| brought another image onto a machine, or installed it again | brings the stack's configuration and image, with one reboot; stops before that if the machine would lose something that the stack does not list |

The word may stay in the file: only a change of it has an effect. With 100 machines it adds 0.2 s to the 3.1 s of CPU in which the program
registers them (mean of four). In addition, a program looks at each machine, as in any update of
it, at most \`upgrade.maxParallel\` machines at a time.

Pulumi has options of its own. \`pulumi up --refresh\` asks Kubernetes for each object and makes again what is gone. It sees neither
machines nor what is inside the release. \`pulumi up --replace URN\` makes one resource again, whatever its state. It refuses a
namespace at preview, since what is in the namespace would be lost. Use \`--refresh\` for an object that is gone and that the same
update changes, and for a release that somebody uninstalled.
`;

const others = `# What no fix of a stack prevents

The causes below are outside of a stack: a person or another program brings them about.

A pod of RuntimeClass \`nvidia\` that requests no \`nvidia.com/gpu\` still sees every card if its image sets
\`NVIDIA_VISIBLE_DEVICES=all\`, as CUDA images do. The doctor names such pods in a note. Request the resource, or set the
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
    `**Remedy.** Make sure that ${does}. A stack of this package does.`,
    "",
    ...(inForce === undefined ? [] : [`If such a stack shows it nevertheless: ${fieldsAsCode(inForce)}.`, ""]),
    `Fix \`${id}\`${refused ? `; what undoes it is refused at preview by the check \`${refused.id}\`` : ""}. Source: ${source}.`,
    "",
  ].join("\n");
}

/** `machines.<name>.…` in backticks: in prose, a browser takes `<name>` for an element and shows nothing. */
const fieldsAsCode = (text: string): string => text.replaceAll(/\b[\w.]+\.<\w+>[\w.]*\w/g, "`$&`");

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
