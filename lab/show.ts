import { painter } from "../cli/terminal/paint";
import { type Terminal, terminalOf } from "../cli/terminal/terminal";
import { widthOf } from "../cli/terminal/wrap";

/**
 * What a line is to its reader: to be kept; an `event`, one of many that a step consists of; or a `beginning`, which
 * another line follows when it is done.
 */
export type Weight = "kept" | "event" | "beginning";

/** Shows the steps of a run, one at a time. */
export interface Show {
  begin(title: string): void;
  say(line: string, weight?: Weight): void;
  /** @param seconds that it took. */
  end(step: { title: string; ok: boolean; detail: string; seconds: number }): void;
}

/** Where a run is shown, and how. */
interface Shown {
  write(text: string): void;
  /** Undefined where a program reads it, or a file keeps it. */
  terminal: Terminal | undefined;
  /** Whether every event is a line of its own. */
  verbose: boolean;
}

/** Shows on standard error: standard output belongs to the result. */
export const showOnStandardError = (verbose = false): Show =>
  showOn({
    write: (text) => void process.stderr.write(text),
    terminal: terminalOf(process.stderr, process.env),
    verbose,
  });

/** In a terminal that can, one line moves while a step runs; elsewhere each line stays. */
export const showOn = (shown: Shown): Show =>
  shown.terminal?.moves ? moving({ ...shown, terminal: shown.terminal }) : plain(shown);

/** The last line of a step. */
function ending(
  { title, ok, detail, seconds }: Parameters<Show["end"]>[0],
  terminal: Terminal | undefined,
): string {
  const paint = painter(terminal?.colour ?? false);
  return `${paint(ok ? "green" : "red", ok ? "✔" : "✖")} ${title}${detail && `: ${detail}`} ${paint("dim", `[${seconds.toFixed(1)} s]`)}\n`;
}

/** Lines that stay: of a step its end, and before that what happens in it. */
function plain({ write, terminal, verbose }: Shown): Show {
  let pending: string | undefined;
  const tell = (): void => {
    if (pending !== undefined) write(`· ${pending}\n`);
    pending = undefined;
  };
  return {
    begin: (title) => {
      pending = title;
      if (verbose) tell();
    },
    say: (line, weight = "kept") => {
      if (weight === "beginning" && !verbose) return;
      tell();
      write(`    ${line}\n`);
    },
    end: (step) => {
      pending = undefined;
      write(ending(step, terminal));
    },
  };
}

/** Frames of the mark that turns while a step runs. */
export const frames = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

/** Milliseconds between two of them. */
const frameTime = 100;

/** ECMA-48: carriage return, and erase in line. */
const eraseLine = "\r\u001b[2K";

function moving({ write, terminal, verbose }: Shown & { terminal: Terminal }): Show {
  const paint = painter(terminal.colour);
  let step: { title: string; begin: number; last: string; timer: NodeJS.Timeout } | undefined;
  let frame = 0;
  const draw = (): void => {
    if (step === undefined) return;
    const seconds = Math.floor((performance.now() - step.begin) / 1000);
    const line = `${step.title} [${seconds} s]${step.last === "" ? "" : ` ${step.last}`}`;
    // The last column stays free: some terminals begin a new line there.
    const room = terminal.columns - 3;
    const cut = widthOf(line) > room ? `${[...line].slice(0, room - 1).join("")}…` : line;
    write(`${eraseLine}${paint("cyan", frames[frame++ % frames.length]!)} ${cut}`);
  };
  return {
    begin: (title) => {
      const timer = setInterval(draw, frameTime);
      timer.unref();
      step = { title, begin: performance.now(), last: "", timer };
      draw();
    },
    say: (line, weight = "kept") => {
      if (weight === "kept" || verbose) write(`${eraseLine}${paint("dim", `    ${line}`)}\n`);
      if (weight !== "kept" && step !== undefined) step.last = line;
      draw();
    },
    end: (done) => {
      clearInterval(step?.timer);
      step = undefined;
      write(`${eraseLine}${ending(done, terminal)}`);
    },
  };
}
