import * as fs from "node:fs";
import * as path from "node:path";
import {
  ComponentProvider,
  getPulumiComponents,
} from "@pulumi/pulumi/provider/experimental/provider";
import { renderStackSchema } from "./json-schema";
import { referencePage } from "./page";
import { withRegistry } from "./registry";
import { repository as root } from "../../stacks/stack-file";
import { type PackageSchema, withTags } from "./tags";

const components = path.join(root, "components");

/**
 * File of the package's schema. It is in git, since Pulumi's registry reads it at a release's tag. The build renews it.
 */
export const schemaFile = path.join(root, "sdk/schema.json");

/** Schema of a stack file, for editors; the build makes it. */
export const stackSchemaFile = path.join(root, "stacks/stack.schema.json");
/** Reference page of every field. */
export const referenceFile = path.join(root, "docs/reference.md");

/**
 * The package's schema, from which SDKs of other languages are generated. It is made with the analyzer that Pulumi's
 * host uses for packages without a schema, and served unchanged (`components/plugin`). The analyzer does not read the
 * docstrings' tags, so they are added here, with the facts for Pulumi's registry.
 *
 * @returns Text of the schema file.
 * @throws Error if a type cannot be published; the message names it.
 */
export async function renderSchema(): Promise<string> {
  const manifest = JSON.parse(fs.readFileSync(path.join(components, "package.json"), "utf8")) as {
    name: string;
  };
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the host also loads a plugin by its path
  const classes = getPulumiComponents(require(path.join(components, "index.ts")));
  const host = new ComponentProvider({
    components: classes,
    dirname: components,
    name: manifest.name,
  });
  const schema = withRegistry(withTags(JSON.parse(await host.getSchema()) as PackageSchema));
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

if (require.main === module) {
  void renderSchema().then((schema) => fs.writeFileSync(schemaFile, schema));
  fs.writeFileSync(stackSchemaFile, renderStackSchema());
  if (process.argv.includes("--page")) fs.writeFileSync(referenceFile, referencePage());
}
