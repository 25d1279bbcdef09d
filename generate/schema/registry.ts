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
 * pkg/codegen/schema/schema.go, PackageSpec). `keywords`: the registry sorts by those with a slash.
 */
const shown = {
  displayName: "NVIDIA GPUs on Talos Linux",
  publisher: owner,
  repository,
  homepage: repository,
  license: "Apache-2.0",
  // Releases there have the plugin for each platform (generate/release/plugin.js); Pulumi asks GitHub's API for them.
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
 * What a Go program imports. Without it, an SDK of `pulumi package add` has another path than one of `pulumi package
 * gen-sdk` (pulumi/pulumi v3.259.0, pkg/codegen/go/gen.go, ExtractImportBasePath).
 */
const importBasePath = `github.com/${owner}/${repositoryName}/sdk/go/talosgpu`;

/** Examples of one cluster in every language: from the language's name in a code fence to the example's file. */
const examples: Record<string, string> = {
  typescript: "examples/typescript/index.ts",
  python: "examples/python/__main__.py",
  go: "examples/go/main.go",
  csharp: "examples/csharp/Program.cs",
  yaml: "examples/yaml/Pulumi.yaml",
};

/** The component that the examples are about. */
const main = "talos-gpu:index:GpuCluster";

/**
 * The package's schema with what the registry shows: who publishes it and where, and an example in each language.
 *
 * The examples stand at the component. The package's own description stays one line: generators of SDKs write it into
 * files that take no more, such as a C# project.
 */
export function withRegistry(schema: PackageSchema): PackageSchema {
  const { name, version, description, ...content } = schema;
  const cluster = content.resources![main]!;
  cluster.description = `${cluster.description}\n\n${exampleUsage()}`;
  const language = { ...content.language, go: { ...content.language?.["go"], importBasePath } };
  return { name, version, description, ...shown, ...content, language };
}

/**
 * In the form from which generators and registry take the reader's language (pulumi/pulumi v3.259.0,
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
