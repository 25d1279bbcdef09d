/**
 * A name that moves a terminal's cursor, sets its title, reverses the direction of writing, and forges lines and
 * workflow commands.
 */
export const hostileName =
  "\u001b]0;x\u0007\u009b2J\u202eevil\n::error::forged\n##[group]forged ##vso[task.complete]\r\u2066";

/**
 * The parts of a text that act on a terminal or on a workflow runner, and the lines that a hostile name forged.
 */
export const unsafeParts = (text: string): string[] => [
  // eslint-disable-next-line no-control-regex -- this function searches for them
  ...(text.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g) ?? []),
  ...(text.match(/##(?:vso)?\[/g) ?? []),
  ...text.split("\n").filter((line) => /^\s*(?:::error::forged|##\S*\[group\]|forged)/.test(line)),
];
