/**
 * Whether this computer has a process with this ID. An ended process counts as existing until its parent process has
 * read its exit status.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
