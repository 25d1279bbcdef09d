/**
 * A text as a terminal and a runner of workflows may have it: what they would act on is written out, as JSON and YAML
 * write it. So it reads as what it is, and within quotes of these two it still means the same.
 *
 * These are: control characters, with which a name moves the cursor or sets the terminal's title (ECMA-48); marks
 * that turn the direction of writing (UAX #9); `::` at the beginning of a line, and `##[`, `##vso[` and the like
 * anywhere in it, which are commands to GitHub's, Azure's and TeamCity's runners (actions/runner, ActionCommand.cs;
 * azure-pipelines-agent, Command.cs). Ends of lines and tabs stay.
 */
export const printable = (text: string): string =>
  text
    .replace(acted, (character) => writtenOut(character))
    .split("\n")
    .map(withoutCommand)
    .join("\n")
    .replace(/##(?=[a-z]{0,20}\[)/gi, `#${writtenOut("#")}`);

/**
 * `printable` on one line, for a line that contains external text: a name with an end of line cannot begin a line of
 * its own.
 */
export const inLine = (text: string): string => printable(text.replaceAll("\n", "\\n"));

const acted =
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** GitHub's runner passes over blanks before the command. */
function withoutCommand(line: string): string {
  const said = line.trimStart();
  if (!said.startsWith("::")) return line;
  return `${line.slice(0, line.length - said.length)}${writtenOut(":")}${said.slice(1)}`;
}

const writtenOut = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
