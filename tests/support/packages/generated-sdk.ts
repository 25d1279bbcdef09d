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

/**
 * Generates an SDK from a schema by Pulumi's generator of that language. `pulumi package add` would call a language
 * host, which the lab does not have (lab/tools/languages).
 *
 * @param schema path of the file.
 * @param languages folder of the generators.
 * @returns the text of each file.
 */
export async function generateSdk({
  schema,
  language,
  languages,
}: {
  schema: string;
  language: string;
  languages: string;
}): Promise<Record<string, string>> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sdk-"));
  try {
    await promisify(execFile)(path.join(languages, "generate-sdk"), [language, schema, folder]);
    const files = fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    if (files.length <= 10) throw new Error(`the ${language} SDK has only ${files.length} files`);
    return Object.fromEntries(
      files.map((file) => [path.relative(folder, file), fs.readFileSync(file, "utf8")]),
    );
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
