/**
 * Whether there is something to remove before the process ends: started programs, or files with credentials. Otherwise
 * the process has no signal handler, so that a signal ends it at once: in a busy process a handler would have to wait.
 */
let isHeld = false;
let release: (() => void) | undefined;

/** Records that there is something to remove from now on. */
export function hold(): void {
  isHeld = true;
  release?.();
  release = undefined;
}

/** Calls `action` once there is something to remove; at once if there already is. */
export function whenHeld(action: () => void): void {
  if (isHeld) action();
  else release = action;
}
