import * as fs from "node:fs";
import * as path from "node:path";
import manifest from "../../components/package.json";
import { publisherOf } from "../release/publisher";
import { repository as root } from "../../stacks/stack-file";
import type { PackageSchema } from "./tags";

/** Account and name of the repository that publishes the package. */
const { owner, name: repositoryName } = publisherOf(manifest);
const repository = `https://github.com/${owner}/${repositoryName}`;

/**
 * Facts about a package that Pulumi's registry shows, in addition to its resources (pulumi/pulumi v3.259.0,
 * pkg/codegen/schema/schema.go, PackageSpec). The registry sorts packages by the `keywords` with a slash.
 */
const registryFields = {
  displayName: "NVIDIA GPUs on Talos Linux",
  publisher: owner,
  repository,
  homepage: repository,
  license: "Apache-2.0",
  // Its releases contain the plugin for each platform (generate/release/plugin.js); Pulumi downloads it through
  // GitHub's API.
  pluginDownloadURL: `github://api.github.com/${owner}/${repositoryName}`,
  logoUrl: `https://raw.githubusercontent.com/${owner}/${repositoryName}/main/docs/pictures/logo.png`,
  keywords: [
    "pulumi",
    "kubernetes",
    "talos",
    "nvidia",
    "gpu",
    "kind/component",
    "category/infrastructure",
  ],
};

/**
 * Import path for Go programs. Without it, `pulumi package add` and `pulumi package gen-sdk` make SDKs with different
 * paths (pulumi/pulumi v3.259.0, pkg/codegen/go/gen.go, ExtractImportBasePath).
 */
const importBasePath = `github.com/${owner}/${repositoryName}/sdk/go/talosgpu`;

/** Files of the example in every language, by the language's name in a code fence. */
const examples: Record<string, string> = {
  typescript: "examples/typescript/index.ts",
  python: "examples/python/__main__.py",
  go: "examples/go/main.go",
  csharp: "examples/csharp/Program.cs",
  yaml: "examples/yaml/Pulumi.yaml",
};

/** The component that the examples use. */
const main = "talos-gpu:index:GpuCluster";

/**
 * The package's schema with the facts for the registry: its publisher and repository, and an example in each language.
 *
 * The component's description has the examples. The package's description stays one line: generators of SDKs write it
 * into files that allow only one, such as a C# project.
 */
export function withRegistry(schema: PackageSchema): PackageSchema {
  const { name, version, description, ...content } = schema;
  const cluster = content.resources![main]!;
  cluster.description = `${cluster.description}\n\n${exampleUsage()}`;
  const language = { ...content.language, go: { ...content.language?.["go"], importBasePath } };
  return { name, version, description, ...registryFields, ...content, language };
}

/**
 * Examples in the form from which generators and the registry choose the reader's language (pulumi/pulumi v3.259.0,
 * pkg/codegen/docs.go, filterExamples).
 */
function exampleUsage(): string {
  const blocks = Object.entries(examples).map(
    ([language, file]) =>
      `\`\`\`${language}\n${fs.readFileSync(path.join(root, file), "utf8").trim()}\n\`\`\``,
  );
  return [
    "{{% examples %}}",
    "## Example Usage",
    "{{% example %}}",
    "### A machine with one card",
    ...blocks,
    "{{% /example %}}",
    "{{% /examples %}}",
  ].join("\n\n");
}
