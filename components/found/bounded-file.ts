import * as fs from "node:fs";
import * as path from "node:path";
import { textOfBytes } from "./text-file";

/** Most bytes of a file that another file names: 1 MiB. */
export const largestFile = 1024 * 1024;

/** What a file is refused for that has more. */
export const tooLarge = "it has more than 1 MiB";

/** What anything is refused for that is no regular file, such as a folder, a device or a pipe. */
export const notPlain = "it is no plain file";

/**
 * Text of a regular file of at most 1 MiB below a folder. What a file names may come from another person than the one who runs the
 * command, e.g. with a pull request. So nothing outside of the folder is read, and its existence is not told.
 *
 * @param root the folder. Symbolic links that lead out of it are refused.
 * @param file its path: absolute, or from the working folder.
 * @throws Error with the reason alone, e.g. `it is outside of /home/me/gpus`; or the system's, where the file cannot be read.
 */
export function textBelow(root: string, file: string): string {
  const outside = new Error(`it is outside of ${root}`);
  if (!isBelow(root, file)) throw outside;
  const real = fs.realpathSync(file);
  if (!isBelow(fs.realpathSync(root), real)) throw outside;
  // A pipe that nobody writes to would block its reader.
  const descriptor = fs.openSync(real, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    if (!fs.fstatSync(descriptor).isFile()) throw new Error(notPlain);
    return textOfBytes(atMost(descriptor));
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * The folder within which a project's files may name others: that of the git repository, else that of Pulumi's project, else the folder itself.
 *
 * @param folder of the file that names others.
 */
export function projectRootOf(folder: string): string {
  const start = path.resolve(folder);
  return above(start, ".git") ?? above(start, "Pulumi.yaml") ?? start;
}

/** The nearest folder, from this one up, that holds an entry of that name. */
function above(folder: string, name: string): string | undefined {
  if (fs.existsSync(path.join(folder, name))) return folder;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : above(parent, name);
}

/** Whether a path is that of a folder, or of something in it, by the paths alone. */
export function isBelow(root: string, file: string): boolean {
  const way = path.relative(path.resolve(root), path.resolve(file));
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/** What is in a file, not by its size, which some file systems give as 0. */
function atMost(descriptor: number): Buffer {
  const bytes = Buffer.alloc(largestFile + 1);
  let read = 0;
  for (;;) {
    const more = fs.readSync(descriptor, bytes, read, bytes.length - read, null);
    read += more;
    if (read > largestFile) throw new Error(tooLarge);
    if (more === 0) return bytes.subarray(0, read);
  }
}
