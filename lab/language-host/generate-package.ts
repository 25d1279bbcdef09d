import type { GeneratePackageRequest } from "@pulumi/pulumi/proto/language_pb";
import * as language from "@pulumi/pulumi/proto/language_pb";
import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The generator of SDKs and the language that this host is of, as its launcher says them. */
export interface Generator {
  /** Program `generate-sdk` (lab/tools/languages); undefined where the host was installed without. */
  program: string | undefined;
  /** `nodejs`, `python` or `go`. */
  language: string;
}

/** The launcher's word of them. */
export function generatorOf(environment: NodeJS.ProcessEnv): Generator {
  return { program: environment["LANGUAGE_HOST_GENERATOR"], language: environment["LANGUAGE_HOST_OF"] ?? "nodejs" };
}

/**
 * Writes a package's SDK, as `pulumi package gen-sdk` asks for it: by Pulumi's own generator, which the real hosts have in them
 * (pulumi/pulumi v3.259.0, sdk/nodejs/cmd/pulumi-language-nodejs/main.go, GeneratePackage). The schema travels as text.
 *
 * @throws what the generator says of the schema.
 */
export async function generatePackage(
  request: GeneratePackageRequest,
  { program, language: of }: Generator,
): Promise<language.GeneratePackageResponse> {
  if (program === undefined) throw new Error("this language host was installed without Pulumi's generators");
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "talos-gpu-schema-"));
  try {
    const schema = path.join(folder, "schema.json");
    await fs.writeFile(schema, request.getSchema());
    await run(program, [of, schema, request.getDirectory()]);
    for (const [name, content] of request.getExtraFilesMap().toArray()) {
      const file = path.join(request.getDirectory(), name);
      await fs.mkdir(path.dirname(file), { recursive: true });
      await fs.writeFile(file, content);
    }
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
  return new language.GeneratePackageResponse();
}
