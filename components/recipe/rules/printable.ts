/**
 * Makes a text safe for a terminal and for a CI runner. If a terminal or a runner would act on a character, the function
 * replaces this character by a `\u` escape of JSON and YAML. Within a quoted string of these two formats, the text keeps
 * its meaning.
 *
 * Terminals act on control characters, which move the cursor or set the terminal's title (ECMA-48), and on marks that
 * change the direction of writing (UAX #9). The runners of GitHub, Azure and TeamCity read commands: `::` at the
 * beginning of a line, and `##[`, `##vso[` and similar texts anywhere in a line (actions/runner, ActionCommand.cs;
 * azure-pipelines-agent, Command.cs). Tabs and ends of lines stay.
 */
export const printable = (text: string): string =>
  text
    .replace(acted, (character) => escapeOf(character))
    .split("\n")
    .map(withoutCommand)
    .join("\n")
    .replace(/##(?=[a-z]{0,20}\[)/gi, `#${escapeOf("#")}`);

/** Like `printable`, but for external text within one line: the function also escapes ends of lines. */
export const inLine = (text: string): string => printable(text.replaceAll("\n", "\\n"));

const acted =
  // eslint-disable-next-line no-control-regex -- the expression looks for control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes a command at the beginning of a line. GitHub's runner ignores blanks before a command. */
function withoutCommand(line: string): string {
  const command = line.trimStart();
  if (!command.startsWith("::")) return line;
  return `${line.slice(0, line.length - command.length)}${escapeOf(":")}${command.slice(1)}`;
}

const escapeOf = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
