import type { StackSettings } from "@pulumi/pulumi/automation";
import { readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { parse, stringify } from "yaml";

/** A stack's settings file. */
export interface SettingsFile {
  read(): Promise<StackSettings>;
  write(settings: StackSettings): Promise<void>;
}

/** That of a project's folder: where its `stackConfigDir` says, of which the Automation API knows nothing. */
export async function settingsOf(folder: string, stack: string): Promise<SettingsFile> {
  const { stackConfigDir } = parse(await readFile(path.join(folder, "Pulumi.yaml"), "utf8")) as {
    stackConfigDir?: string;
  };
  const file = path.join(folder, stackConfigDir ?? "", `Pulumi.${stack}.yaml`);
  return {
    read: async () => {
      const said = (parse(await readFile(file, "utf8")) ?? {}) as Record<string, string>;
      const { encryptionsalt: encryptionSalt, config = {} } = said;
      return { ...(encryptionSalt ? { encryptionSalt } : {}), config };
    },
    write: ({ encryptionSalt, config }) => writeFile(file, stringify({ encryptionsalt: encryptionSalt, config })),
  };
}
