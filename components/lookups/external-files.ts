import * as path from "node:path";
import { filled, isMapping } from "../recipe/mapping";
import { readExternal } from "../recipe/external/external";
import { ExternalKind } from "../recipe/spec/index";
import type { AskedStack } from "./release-facts";
import { projectRootOf, reasonOf, textBelow } from "./bounded-file";

/**
 * A stack's `external` with what its files say (`read`); nothing where it names none, or has that already. Never
 * throws: `read.unread` names what cannot be read, and refuses the stack.
 *
 * @param folder that relative paths begin in. Default: the working folder, which for Pulumi is the stack file's.
 * @param readText content of a file by its path; throws where it cannot be read, with the reason. Default: of a
 * regular file of at most 1 MiB in the repository or project of that folder. A stack file may come from a stranger,
 * and a plan prints what it reads.
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
  const named = files.filter((file) => typeof file === "string");
  const texts = named.flatMap((name) => {
    try {
      return [{ name, text: readText(path.resolve(folder, name)) }];
    } catch (error) {
      unread.push(`${name} cannot be read (${reasonOf(error)})`);
      return [];
    }
  });
  const knownKind = Object.values(ExternalKind).find((one) => one === kind);
  const read = texts.length === 0 ? {} : readExternal(texts, knownKind);
  return {
    external: {
      ...external,
      read: { ...read, ...filled({ unread: unread.length > 0 ? unread : read.unread }) },
    },
  };
}

/** Reads files of the project that a folder belongs to. */
const inProjectOf =
  (folder: string) =>
  (file: string): string =>
    textBelow(projectRootOf(folder), file);
