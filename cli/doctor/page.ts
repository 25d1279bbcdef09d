import { checks, type Fix } from "../../components/recipe/index";

const intro = `# Troubleshooting: NVIDIA GPUs on Talos Linux

What goes wrong, what is printed then, why, and what to do. Ask a live cluster which of it is yours (nothing is changed):

    npm run doctor -- --kubeconfig FILE --talosconfig FILE

A stack of this package has the remedies built in; each is a fix that \`without\` leaves out, and
\`npm run lab -- --without FIX\` shows the failure without hardware. Where a check refuses such a stack at preview,
\`--no-checks\` shows the failure itself.
`;

/** The troubleshooting page (Markdown): a section per failure. */
export function troubleshootingPage(fixes: readonly Fix[]): string {
  return [intro, ...fixes.map(section)].join("\n");
}

function section({ id, symptom, errors, cause, does, remedy, inForce, source, check }: Fix): string {
  const refused = checks.find((candidate) => candidate.id === check);
  return [
    `## ${capital(symptom)}`,
    "",
    ...(errors && errors.length > 0 ? ["```text", ...errors, "```", ""] : []),
    `**Cause.** ${capital(cause)}.`,
    "",
    `**Remedy.** See to it that ${does}. In a stack of this package: ${remedy}.`,
    "",
    ...(inForce === undefined ? [] : [`Seen although the stack has it: ${inForce}.`, ""]),
    `Fix \`${id}\`${refused ? `; refused at preview by the check \`${refused.id}\`` : ""}. Source: ${source}.`,
    "",
  ].join("\n");
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
