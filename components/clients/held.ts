/**
 * Whether there is something to remove before the process ends: started programs, or files with credentials. If there
 * is nothing, the process has no signal handler, so a signal ends the process at once. Node would call a handler only
 * after the running code has returned.
 */
let isHeld = false;
let release: (() => void) | undefined;

/** Records that from now on there is something to remove before the process ends. */
export function hold(): void {
  isHeld = true;
  release?.();
  release = undefined;
}

/** Calls `action` as soon as there is something to remove, which may be now. */
export function whenHeld(action: () => void): void {
  if (isHeld) action();
  else release = action;
}
