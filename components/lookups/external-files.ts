import * as path from "node:path";
import { filled, isMapping } from "../recipe/mapping";
import { readExternal } from "../recipe/external/external";
import { ExternalKind } from "../recipe/spec/index";
import type { AskedStack } from "./release-facts";
import { projectRootOf, reasonOf, readTextWithin } from "./bounded-file";

/**
 * A stack's `external` with the content of its files (`read`). The result is empty if `external` names no files, or
 * already has `read`. Never throws: `read.unread` names unreadable files, and a check then refuses the stack.
 *
 * @param folder base of relative paths. Default: the working folder, which in Pulumi is the folder of the stack file.
 * @param readText reads a file, or throws the reason why it cannot. Default: reads regular files of at most 1 MiB in
 *   the repository or project of that folder. It reads no other files, because a stack file may come from a stranger,
 *   and a plan prints the files' content.
 */
export function withExternal(
  { external }: AskedStack,
  folder = process.cwd(),
  readText = inProjectOf(folder),
): Pick<AskedStack, "external"> {
  if (!isMapping(external) || external["read"] !== undefined) return {};
  const { files, kind } = external;
  if (!Array.isArray(files)) return {};
  const unread: string[] = [];
  const fileNames = files.filter((file) => typeof file === "string");
  const texts = fileNames.flatMap((name) => {
    try {
      return [{ name, text: readText(path.resolve(folder, name)) }];
    } catch (error) {
      unread.push(`${name} cannot be read (${reasonOf(error)})`);
      return [];
    }
  });
  const knownKind = Object.values(ExternalKind).find((candidate) => candidate === kind);
  const read = texts.length === 0 ? {} : readExternal(texts, knownKind);
  return {
    external: {
      ...external,
      read: { ...read, ...filled({ unread: unread.length > 0 ? unread : read.unread }) },
    },
  };
}

/** Makes a function that reads files of the project (`projectRootOf`) of a folder. */
const inProjectOf =
  (folder: string) =>
  (file: string): string =>
    readTextWithin(projectRootOf(folder), file);
