import { redact } from "../failure";

/**
 * Lines of a kernel log that say why a boot does not go on: a task at which Talos pauses before it reboots, with the error
 * below it. Source: talos, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, pauseOnFailure.
 */
export function bootErrorsOf(log: string): string[] {
  const lines = log.split("\n").map((line) => redact(line.trim()));
  return [
    ...new Set(lines.filter((line) => /failed, rebooting in \d+ minutes|EtcFileSpecs.*already exists/.test(line))),
  ];
}
