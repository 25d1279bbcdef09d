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
 * File of the package's schema. It is in git, since Pulumi's registry reads it at a release's tag. The build writes
 * it again.
 */
export const schemaFile = path.join(root, "sdk/schema.json");

/** File with the schema of a stack file, for an editor; the build makes it. */
export const stackSchemaFile = path.join(root, "stacks/stack.schema.json");
/** The page of every field. */
export const referenceFile = path.join(root, "docs/reference.md");

/**
 * The package's schema: what other languages see. Made by what Pulumi's host has for packages without one, and served
 * as it is (`components/plugin`). That analyzer reads no tags of docstrings, so what they say is added here, with
 * what Pulumi's registry shows.
 *
 * @returns Text of the schema file.
 * @throws Error where a type cannot be published; the message names it.
 */
export async function renderSchema(): Promise<string> {
  const manifest = JSON.parse(fs.readFileSync(path.join(components, "package.json"), "utf8")) as {
    name: string;
  };
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- by path, as the host loads a plugin
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
