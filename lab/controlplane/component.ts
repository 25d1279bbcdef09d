import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { until } from "../until";

/** Seconds that a component may take to work: 4 on two idle cores, so a minute and a half is a computer in trouble. */
const startSeconds = 90;

const quoted = 6_000;

/** A component that runs as a process of its own, and ends with this one, however that ends: its standard input ends too. */
export interface Component {
  /** Waits until something holds that needs it; throws with the end of its log when it ends before, or takes too long. */
  until(holds: () => boolean | Promise<boolean>, signal?: AbortSignal): Promise<void>;
  log(): string;
  /** Kills it: there is no state worth an orderly shutdown. */
  stop(): Promise<void>;
}

/** Starts a component of the `controlplane` binary, its output going to a file. */
export function startComponent(binary: string, name: string, flags: readonly string[], file: string): Component {
  const log = fs.openSync(file, "w", 0o600);
  // Etcd takes every flag from ETCD_* variables too, and refuses the unknown.
  const env = Object.fromEntries(Object.entries(process.env).filter(([variable]) => !variable.startsWith("ETCD_")));
  // A group of its own: Ctrl-C in a terminal reaches the lab alone, which then stops its parts in order.
  const child = spawn(binary, ["child", name, ...flags], { env, stdio: ["pipe", log, log], detached: true });
  fs.closeSync(log);
  child.stdin!.on("error", () => {});
  let end: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => resolve(void (end = error.message)));
    child.once("close", (code, signal) => resolve(void (end ??= signal ?? `exit status ${code}`)));
  });
  const words = (): string => fs.readFileSync(file, "utf8");
  return {
    log: words,
    until: async (holds, signal) => {
      const look = async (): Promise<string> => end ?? ((await holds()) ? "holds" : "");
      const patience = { seconds: startSeconds, every: 50, ...(signal === undefined ? {} : { signal }) };
      const { seen } = await until(patience, look, (seen) => seen !== "");
      if (seen === "holds") return;
      throw new Error(
        `${name}: ${seen === "" ? `does not work after ${startSeconds} s` : `ended (${seen})`}, and a control plane without it cannot serve; ` +
          `the end of its log says what to mend:\n${words().slice(-quoted).trim()}`,
      );
    },
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
