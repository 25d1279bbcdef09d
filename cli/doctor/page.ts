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
  return [intro, ...fixes.map(section), others, ...Object.entries(causes).map(causeSection)].join("\n");
}

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
