import * as fs from "node:fs";
import * as path from "node:path";
import { textOfBytes } from "./text-of-bytes";

/**
 * Largest size in bytes of a file that is read: 1 MiB. Kubernetes cannot store larger objects either (etcd,
 * --max-request-bytes).
 */
export const largestFile = 1024 * 1024;

/** Reason to refuse a larger file. */
export const tooLarge = "it has more than 1 MiB";

/** Reason to refuse a path that is not a regular file, such as a folder, a device or a pipe. */
export const notPlain = "it is no plain file";

/**
 * Text of a regular file of at most 1 MiB below a folder. The paths may come from a stranger, e.g. in a pull request.
 * So the function reads nothing outside of the folder, and its error does not reveal whether a file outside exists.
 *
 * @param root the folder. Symbolic links that lead out of the folder are refused.
 * @param file the file's path: absolute, or relative to the working folder.
 * @throws Error whose message is only the reason, e.g. `it is outside of /home/me/gpus`; or the system's error, if the
 *   file cannot be read.
 */
export function readTextWithin(root: string, file: string): string {
  const outside = new Error(`it is outside of ${root}`);
  if (!isBelow(root, file)) throw outside;
  const real = fs.realpathSync(file);
  if (!isBelow(fs.realpathSync(root), real)) throw outside;
  return boundedText(real);
}

/**
 * Text of a regular file of at most 1 MiB in any folder. Only for files that the user names on the command line.
 *
 * @throws Error whose message is only the reason, e.g. `it is no plain file`; or the system's error, if the file cannot
 *   be read.
 */
export function boundedText(file: string): string {
  const { text, isWhole } = beginningOf(file);
  if (!isWhole) throw new Error(tooLarge);
  return text;
}

/**
 * The first MiB of a regular file.
 *
 * @throws Error like `boundedText`, except that a large file is no error.
 */
export function beginningOf(file: string): { text: string; isWhole: boolean } {
  // A pipe without a writer would block its reader.
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0));
  try {
    const stat = fs.fstatSync(descriptor);
    if (!stat.isFile()) throw new Error(notPlain);
    // Some file systems report the size 0 for files with content.
    const bytes = readUpTo(
      descriptor,
      Math.min(stat.size > 0 ? stat.size + 1 : Infinity, largestFile + 1),
    );
    return {
      text: textOfBytes(bytes.subarray(0, largestFile)),
      isWhole: bytes.length <= largestFile,
    };
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Why a file could not be read: the system's code, e.g. `ENOENT`, or the reason from a function of this file. */
export const reasonOf = (error: unknown): string =>
  (error as NodeJS.ErrnoException).code ?? (error as Error).message;

/**
 * The folder that must contain every file that a project's file names: the Git repository, else the Pulumi project,
 * else the folder itself.
 *
 * @param folder folder of the file that names other files.
 */
export function projectRootOf(folder: string): string {
  const start = path.resolve(folder);
  return folderAbove(start, ".git") ?? folderAbove(start, "Pulumi.yaml") ?? start;
}

/** The folder that has an entry of this name: this folder, or the nearest one above it; undefined if there is none. */
function folderAbove(folder: string, name: string): string | undefined {
  if (fs.existsSync(path.join(folder, name))) return folder;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : folderAbove(parent, name);
}

/** Whether a path is a folder or lies in it. Compares only the paths. */
export function isBelow(root: string, file: string): boolean {
  const relativePath = path.relative(path.resolve(root), path.resolve(file));
  return (
    relativePath !== ".." &&
    !relativePath.startsWith(`..${path.sep}`) &&
    !path.isAbsolute(relativePath)
  );
}

/** Content of a file, up to `maxBytes` bytes. */
function readUpTo(descriptor: number, maxBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(maxBytes);
  let read = 0;
  while (read < maxBytes) {
    const count = fs.readSync(descriptor, bytes, read, maxBytes - read, null);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}
