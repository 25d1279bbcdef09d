import { painter } from "../cli/terminal/paint";
import { type Terminal, terminalOf } from "../cli/terminal/terminal";
import { widthOf } from "../cli/terminal/wrap";

/**
 * Importance of a line: `kept` stays on the screen; an `event` is one of many in a step; a `beginning` is followed by a
 * line at the end of that action.
 */
export type Weight = "kept" | "event" | "beginning";

/** Shows the steps of a run, one at a time. */
export interface Show {
  begin(title: string): void;
  say(line: string, weight?: Weight): void;
  /** @param seconds duration of the step. */
  end(step: { title: string; ok: boolean; detail: string; seconds: number }): void;
}

/** Output and form of a run's progress. */
interface ShowSettings {
  write(text: string): void;
  /** Undefined if a program or a file receives the output. */
  terminal: Terminal | undefined;
  /** Whether every event gets its own line. */
  verbose: boolean;
}

/** Shows progress on standard error, since standard output has the result. */
export const showOnStandardError = (verbose = false): Show =>
  showOn({
    write: (text) => void process.stderr.write(text),
    terminal: terminalOf(process.stderr, process.env),
    verbose,
  });

/** In a terminal, one line is redrawn while a step runs. Elsewhere each line stays. */
export const showOn = (settings: ShowSettings): Show =>
  settings.terminal?.moves
    ? movingShow({ ...settings, terminal: settings.terminal })
    : plainShow(settings);

/** The last line of a step. */
function endLine(
  { title, ok, detail, seconds }: Parameters<Show["end"]>[0],
  terminal: Terminal | undefined,
): string {
  const paint = painter(terminal?.colour ?? false);
  return `${paint(ok ? "green" : "red", ok ? "✔" : "✖")} ${title}${detail && `: ${detail}`} ${paint("dim", `[${seconds.toFixed(1)} s]`)}\n`;
}

/** Prints lines that stay: those of a step, then its result. */
function plainShow({ write, terminal, verbose }: ShowSettings): Show {
  let pending: string | undefined;
  const printPending = (): void => {
    if (pending !== undefined) write(`· ${pending}\n`);
    pending = undefined;
  };
  return {
    begin: (title) => {
      pending = title;
      if (verbose) printPending();
    },
    say: (line, weight = "kept") => {
      if (weight === "beginning" && !verbose) return;
      printPending();
      write(`    ${line}\n`);
    },
    end: (step) => {
      pending = undefined;
      write(endLine(step, terminal));
    },
  };
}

/** Frames of the spinner that shows a running step. */
export const frames = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

/** Milliseconds between two frames. */
const frameTime = 100;

/** ECMA-48: carriage return, and erase in line. */
const eraseLine = "\r\u001b[2K";

function movingShow({ write, terminal, verbose }: ShowSettings & { terminal: Terminal }): Show {
  const paint = painter(terminal.colour);
  let step: { title: string; begin: number; lastLine: string; timer: NodeJS.Timeout } | undefined;
  let frame = 0;
  const draw = (): void => {
    if (step === undefined) return;
    const seconds = Math.floor((performance.now() - step.begin) / 1000);
    const line = `${step.title} [${seconds} s]${step.lastLine === "" ? "" : ` ${step.lastLine}`}`;
    // The last column stays free: some terminals begin a new line there.
    const room = terminal.columns - 3;
    const shortened = widthOf(line) > room ? `${[...line].slice(0, room - 1).join("")}…` : line;
    write(`${eraseLine}${paint("cyan", frames[frame++ % frames.length]!)} ${shortened}`);
  };
  return {
    begin: (title) => {
      const timer = setInterval(draw, frameTime);
      timer.unref();
      step = { title, begin: performance.now(), lastLine: "", timer };
      draw();
    },
    say: (line, weight = "kept") => {
      if (weight === "kept" || verbose) write(`${eraseLine}${paint("dim", `    ${line}`)}\n`);
      if (weight !== "kept" && step !== undefined) step.lastLine = line;
      draw();
    },
    end: (finished) => {
      clearInterval(step?.timer);
      step = undefined;
      write(`${eraseLine}${endLine(finished, terminal)}`);
    },
  };
}
