import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { repository } from "../../../stacks/stack-file";

/** The schema that a release publishes. */
export const publishedSchema = path.join(repository, "sdk/schema.json");

/** Languages whose SDKs tests/sdk/languages compiles. */
export const sdkLanguages = ["nodejs", "python", "go"];

/** What an SDK is generated from. */
interface SdkSource {
  /** Path of the schema. */
  schema: string;
  language: string;
  /** Folder of the generators. */
  languages: string;
}

/**
 * Generates an SDK into a folder, by Pulumi's generator of its language. `pulumi package add` would call a language
 * host, which the lab does not have (lab/tools/languages).
 */
export async function writeSdk(
  folder: string,
  { schema, language, languages }: SdkSource,
): Promise<void> {
  await promisify(execFile)(path.join(languages, "generate-sdk"), [language, schema, folder]);
}

/** The text of each file of an SDK that `writeSdk` generates. */
export async function generateSdk(source: SdkSource): Promise<Record<string, string>> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sdk-"));
  try {
    await writeSdk(folder, source);
    const files = fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    if (files.length <= 10)
      throw new Error(`the ${source.language} SDK has only ${files.length} files`);
    return Object.fromEntries(
      files.map((file) => [path.relative(folder, file), fs.readFileSync(file, "utf8")]),
    );
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
