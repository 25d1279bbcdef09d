import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { packageRoot as ownRoot, realpath } from "../../pulumi/package-root";

/** Where things are, for the choice of a command text. */
export interface Places {
  /** Folder of this package. */
  packageRoot: string;
  /** Working directory of the command: that of the program that provisions. */
  workingDirectory: string;
  /** Pulumi's folder, with its plugins. */
  pulumiHome: string;
  /**
   * Folder of the package `talos-gpu` as it is found from a folder, symbolic links resolved; undefined when it is
   * not.
   */
  resolve: (from: string) => string | undefined;
}

const PROGRAM = "bin/program.js";

/**
 * Command that runs a verb of the machine program. The text is part of the resource's state, so it holds nothing of the
 * machine it was written on: an absolute path would differ between a laptop and a CI runner, and show as a change of
 * every machine. In order: by the package's name where the working directory finds this very package; by Pulumi's
 * folder where the package is an installed plugin; else relative to the working directory.
 */
export function programCommand(verb: string, places: Places): string {
  const { packageRoot, workingDirectory, pulumiHome, resolve } = places;
  if (resolve(workingDirectory) === packageRoot)
    return nodeCommand(literal(`talos-gpu/${PROGRAM}`), verb);
  const below = path.relative(pulumiHome, packageRoot);
  if (below !== "" && !below.startsWith("..") && !path.isAbsolute(below)) {
    const home = "process.env.PULUMI_HOME||require('path').join(require('os').homedir(),'.pulumi')";
    return nodeCommand(
      `require('path').join(${home},${literal(`${posix(below)}/${PROGRAM}`)})`,
      verb,
    );
  }
  const relative = posix(path.relative(workingDirectory, path.join(packageRoot, PROGRAM)));
  return nodeCommand(literal(relative.startsWith(".") ? relative : `./${relative}`), verb);
}

const texts = new Map<string, string>();

/**
 * The command of a verb in this process, looked for on the disk once for each working directory: every machine asks.
 */
export function programCommandHere(verb: string): string {
  const key = `${verb} ${process.cwd()}`;
  const text = texts.get(key) ?? programCommand(verb, placesHere());
  texts.set(key, text);
  return text;
}

/** Double quotes around single ones: both sh and cmd take it. */
const nodeCommand = (module: string, verb: string): string =>
  `node -e "require(${module})" -- ${verb}`;

/**
 * A text as a literal of JavaScript. Characters with a meaning for sh, cmd or JavaScript are written as numbers,
 * since a folder may have any name.
 */
function literal(text: string): string {
  const signs = /["'`$\\%!^]|[^\S ]/g;
  return `'${text.replace(signs, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)}'`;
}

const posix = (file: string): string => file.split(path.sep).join("/");

/** The places of this process. */
const placesHere = (): Places => ({
  packageRoot: ownRoot(),
  workingDirectory: process.cwd(),
  pulumiHome: realpath(process.env["PULUMI_HOME"] ?? path.join(os.homedir(), ".pulumi")),
  resolve: (from) => {
    try {
      return path.dirname(
        realpath(createRequire(path.join(from, "index.js")).resolve("talos-gpu/package.json")),
      );
    } catch {
      return undefined;
    }
  },
});
