import type { OutputMap } from "@pulumi/pulumi/automation";
import { readFile } from "node:fs/promises";
import * as path from "node:path";
import type { LabEngineOptions } from "./options";
import type { StackSecrets } from "./stack-secrets";

// sdk/go/common/resource/properties.go: the mark of values that are more than JSON, and that of a secret among them.
const signature = "4dabf18193072939515e22adb298388d";
const secretSignature = "1b47061264138c4ac30d75fd1eb44270";

interface Checkpoint {
  checkpoint?: { latest?: { resources?: { type: string; outputs?: Record<string, unknown> }[] } };
}

/** Where a file backend is, and whose state it has. */
export type Place = Pick<LabEngineOptions, "dir" | "project" | "stack">;

/** The state's file (pulumi, pkg/backend/diy/store.go: `.pulumi/stacks/PROJECT/STACK.json`). */
export const checkpointFile = ({ dir, project, stack }: Place): string =>
  path.join(dir, "state/.pulumi/stacks", project, `${stack}.json`);

/** A stack's outputs as its file backend has them; none when it has not been updated yet. */
export async function outputsOf(place: Place, secrets: StackSecrets): Promise<OutputMap> {
  const { checkpoint } = JSON.parse(await readFile(checkpointFile(place), "utf8")) as Checkpoint;
  const root = checkpoint?.latest?.resources?.find(({ type }) => type === "pulumi:pulumi:Stack");
  const entries = Object.entries(root?.outputs ?? {}).map(([name, value]) => [name, revealed(value, secrets)]);
  return Object.fromEntries(entries) as OutputMap;
}

/** A value without its secret marks, and whether it had any. */
function revealed(value: unknown, secrets: StackSecrets): { value: any; secret: boolean } {
  let secret = false;
  const plain = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(plain);
    if (typeof part !== "object" || part === null) return part;
    const map = part as Record<string, unknown>;
    if (map[signature] !== secretSignature)
      return Object.fromEntries(Object.entries(map).map(([key, child]) => [key, plain(child)]));
    secret = true;
    return plain(JSON.parse(secrets.decrypt(map["ciphertext"] as string)));
  };
  return { value: plain(value), secret };
}
