import * as fs from "node:fs";
import * as path from "node:path";
import { ComponentProvider, getPulumiComponents } from "@pulumi/pulumi/provider/experimental/provider";

const components = path.join(__dirname, "..", "components");

/** File of the committed schema. */
export const schemaFile = path.join(__dirname, "schema.json");

/**
 * The package's schema: what other languages see. Made by the very host that serves the package as a plugin. The CLI reads
 * it into types of its own first, so `pulumi package get-schema ./components` prints it without `optional: true` and empty
 * lists, in another order; tests/e2e/pulumi-host.test.ts compares the two.
 *
 * @returns Text of the schema file.
 * @throws Error where a type cannot be published; the message names it.
 */
export async function renderSchema(): Promise<string> {
  const manifest = JSON.parse(fs.readFileSync(path.join(components, "package.json"), "utf8")) as { name: string };
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- by path, as the host loads a plugin
  const classes = getPulumiComponents(require(path.join(components, "index.ts")));
  const host = new ComponentProvider({ components: classes, dirname: components, name: manifest.name });
  const schema: unknown = JSON.parse(await host.getSchema());
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

if (require.main === module) {
  void renderSchema().then((schema) => fs.writeFileSync(schemaFile, schema));
}
