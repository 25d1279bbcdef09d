import { type Bar, type Timeline, withWaits } from "../../cli/timeline";
import type { Progress } from "../engine";

/** Something that the engine told, and when, in seconds since the update began. */
export interface Told {
  at: number;
  progress: Progress;
}

/** Phases of the upgrade program that a reader asks for, by the word that begins their line (machine/program/upgrade). */
const phases: Record<string, Pick<Bar, "label" | "part">> = {
  pull: { label: "pulls the installer", part: "other" },
  drain: { label: "drains", part: "drain" },
  upgrade: { label: "reboots", part: "reboot" },
  reboot: { label: "reboots", part: "reboot" },
  verify: { label: "is verified", part: "verify" },
};

/** Resources that take their time, by what is said of them. */
const steps: [type: RegExp, name: RegExp, bar: Pick<Bar, "label" | "part">][] = [
  [/:Job$/, /smoke-test/, { label: "begins", part: "gate" }],
  [/:Command$/, /^gate$/, { label: "has all smoke tests passed", part: "gate" }],
  [/:Release$/, /./, { label: "is installed", part: "other" }],
  [/:(Deployment|LeaderWorkerSet|Pod|Job|DaemonSet)$/, /./, { label: "starts", part: "other" }],
];

/**
 * An update over time, as it was: phases of each machine's upgrade, and what Kubernetes was given meanwhile. What took less than
 * a twentieth of a second is left out.
 *
 * @param machines names of the stack's machines.
 */
export function timelineOf(told: readonly Told[], stack: string, machines: readonly string[]): Timeline {
  const bars: Bar[] = [];
  const open = new Map<string, Bar>();
  const close = (urn: string, at: number): void => {
    const bar = open.get(urn);
    if (bar !== undefined && at - bar.from >= 0.05) bars.push({ ...bar, to: at });
    open.delete(urn);
  };
  for (const { at, progress } of told) {
    const { urn = "" } = progress;
    const name = urn.split("::").slice(3).join("::").replace(`${stack}-`, "");
    const machine = machines
      .filter((one) => name === one || name.startsWith(`${one}-`))
      .sort((a, b) => b.length - a.length)[0];
    if (progress.kind === "message") {
      const phase = machine === undefined ? undefined : /^(?:\S+: )?(\w+): /.exec(progress.message)?.[1];
      const known = phase === undefined ? undefined : phases[phase];
      if (known === undefined || machine === undefined || open.get(urn)?.label === known.label) continue;
      close(urn, at);
      open.set(urn, { section: machine, ...known, from: at, to: at });
    } else if (progress.state !== "started") close(urn, at);
    else if (progress.op !== "same") {
      const step = steps.find(([type, said]) => type.test(progress.type) && said.test(name));
      if (step !== undefined) open.set(urn, { section: machine ?? name, ...step[2], from: at, to: at });
    }
  }
  return { times: "as it was", bars: withWaits(bars) };
}
