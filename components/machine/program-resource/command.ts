import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { packageRoot as ownRoot, realpath } from "../../pulumi/package-root";

/** Folders that determine the text of a command. */
export interface Places {
  /** Folder of this package. */
  packageRoot: string;
  /** Working directory of the command, which is that of the Pulumi program. */
  workingDirectory: string;
  /** Pulumi's home folder, usually `~/.pulumi`, which contains the installed plugins. */
  pulumiHome: string;
  /**
   * Finds the folder of the package `talos-gpu` from a folder, with symbolic links resolved; undefined if Node does not
   * find it.
   */
  resolve: (from: string) => string | undefined;
}

const PROGRAM = "bin/program.js";

/**
 * Command that runs a verb of the machine program. The text is part of the resource's state, so it must not depend on
 * the computer. An absolute path would differ between a laptop and a CI runner, and Pulumi would see a change of every
 * machine. If Node finds this package from the working directory, the command has the package's name. If the package is
 * an installed plugin, the command has a path in Pulumi's home folder. Otherwise it has a path relative to the working
 * directory.
 */
export function programCommand(verb: string, places: Places): string {
  const { packageRoot, workingDirectory, pulumiHome, resolve } = places;
  if (resolve(workingDirectory) === packageRoot)
    return nodeCommand(literal(`talos-gpu/${PROGRAM}`), verb);
  const pathInHome = path.relative(pulumiHome, packageRoot);
  if (pathInHome !== "" && !pathInHome.startsWith("..") && !path.isAbsolute(pathInHome)) {
    const home = "process.env.PULUMI_HOME||require('path').join(require('os').homedir(),'.pulumi')";
    return nodeCommand(
      `require('path').join(${home},${literal(`${posix(pathInHome)}/${PROGRAM}`)})`,
      verb,
    );
  }
  const relative = posix(path.relative(workingDirectory, path.join(packageRoot, PROGRAM)));
  return nodeCommand(literal(relative.startsWith(".") ? relative : `./${relative}`), verb);
}

const texts = new Map<string, string>();

/** The command of a verb in this process. It is cached for each working directory, because every machine needs it. */
export function programCommandHere(verb: string): string {
  const key = `${verb} ${process.cwd()}`;
  const text = texts.get(key) ?? programCommand(verb, currentPlaces());
  texts.set(key, text);
  return text;
}

/**
 * Command that runs a verb of a module in Node, for the shells sh and cmd: both accept single quotes within double
 * quotes.
 */
const nodeCommand = (module: string, verb: string): string =>
  `node -e "require(${module})" -- ${verb}`;

/**
 * A text as a JavaScript literal. Characters with a meaning in sh, cmd or JavaScript become `\u` escapes, because a
 * folder may have any name.
 */
function literal(text: string): string {
  const signs = /["'`$\\%!^]|[^\S ]/g;
  return `'${text.replace(signs, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)}'`;
}

const posix = (file: string): string => file.split(path.sep).join("/");

/** The folders of this process. */
const currentPlaces = (): Places => ({
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
