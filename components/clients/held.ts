/**
 * Things to remove before the process ends: programs that were started, and files with credentials. While there are
 * none, a signal is the system's to act on, which ends a busy process at once: a handler of ours would wait for its
 * turn.
 */
let isHeld = false;
let tell: (() => void) | undefined;

/** Notes that something is held from now on. */
export function hold(): void {
  isHeld = true;
  tell?.();
  tell = undefined;
}

/** Calls back once something is held; at once where it is already. */
export function whenHeld(act: () => void): void {
  if (isHeld) act();
  else tell = act;
}
