/** Whether this computer has a process of this number. One that has ended counts until its parent has asked for its status. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
