import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { parse } from "yaml";
import { gpuProviders } from "../../components/recipe/facts/gpu-provider";
import { workloadDescriptors } from "../../components/recipe/stack/workloads";
import type { WorkloadDescriptor } from "../../components/recipe/stack/workloads/descriptor";
import { policies } from "../../policy/policies";
import { blocksOf, files, read } from "./pages";

// Files that people and tools expect of a project, in addition to its pages.

interface Form {
  name: string;
  description: string;
  body: {
    type: string;
    id?: string;
    attributes: { label?: string; value?: string; description?: string };
  }[];
}
const folder = ".github/ISSUE_TEMPLATE/";
const forms = files.filter((file) => file.startsWith(folder) && !file.endsWith("/config.yml"));

/** The command's verbs, read from the source of their list: it imports modules that exist only in the bundle. */
const verbs = [...read("cli/verbs.ts").matchAll(/^ {2}(?:"([a-z-]+)"|([a-z]+))(?:,|:)/gm)].map(
  ([, quoted, plain]) => quoted ?? plain!,
);

/** Verbs of the command in a text. */
const verbsIn = (text: string): string[] =>
  [...text.matchAll(/talos-gpu ([a-z][a-z-]*)/g)].map(([, verb]) => verb!);

describe("a form for issues", () => {
  // docs.github.com, "Syntax for GitHub's form schema".
  test.each(forms)("%s follows GitHub's form schema", (file) => {
    const { name, description, body } = parse(read(file)) as Form;
    for (const text of [name, description]) expect(text).toEqual(expect.stringMatching(/./));
    const ids = body.flatMap(({ id }) => id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(0);
    for (const { type, id, attributes } of body) {
      expect(["markdown", "textarea", "input", "dropdown", "checkboxes"]).toContain(type);
      expect(type === "markdown" ? attributes.value : attributes.label).toBeTruthy();
      expect(id ?? "none").toMatch(/^[A-Za-z0-9_-]+$/);
    }
  });

  test.each(forms)("%s names only existing verbs", (file) => {
    const namedVerbs = verbsIn(read(file));
    expect(verbs).toContain("doctor");
    expect(namedVerbs.filter((verb) => !verbs.includes(verb))).toEqual([]);
  });

  test("for a failure requests the plan, the doctor's report and the bug report", () => {
    const text = read(`${folder}fails.yml`);
    expect(verbsIn(text)).toEqual(expect.arrayContaining(["plan", "bug-report", "doctor"]));
    expect(text).toContain("SECURITY.md");
  });
});

describe("the preset of Renovate", () => {
  const { customManagers } = JSON.parse(read("renovate/stack.json")) as {
    customManagers: {
      managerFilePatterns: string[];
      matchStrings: string[];
      datasourceTemplate?: string;
      depNameTemplate?: string;
      registryUrlTemplate?: string;
    }[];
  };
  const [{ managerFilePatterns, matchStrings }] = customManagers as [
    (typeof customManagers)[number],
  ];
  const groupsIn = (line: string): Record<string, string | undefined> | undefined =>
    new RegExp(matchStrings[0]!).exec(line)?.groups;

  test("reads the versions and sources in the comments that docs/operations.md shows", () => {
    const lines = blocksOf("docs/operations.md", /^yaml$/).flatMap((block) =>
      block.split("\n").filter((line) => line.includes("# renovate:")),
    );
    expect(lines.map(groupsIn)).toEqual([
      {
        currentValue: "v1.13.9",
        datasource: "github-releases",
        depName: "siderolabs/talos",
        registryUrl: undefined,
      },
      {
        currentValue: "v26.3.3",
        datasource: "helm",
        depName: "gpu-operator",
        registryUrl: "https://helm.ngc.nvidia.com/nvidia",
      },
    ]);
    expect(groupsIn('  version: "0.17.4" # renovate: datasource=helm depName=x')).toMatchObject({
      currentValue: "0.17.4",
    });
    expect(groupsIn("  version: v26.3.3")).toBeUndefined();
  });

  /** The versions that Renovate reads from a stack file by the preset's rules. */
  const versionsIn = (text: string) =>
    customManagers.flatMap(({ matchStrings: [pattern], ...templates }) =>
      [...text.matchAll(new RegExp(pattern!, "g"))].map(({ groups = {} }) => ({
        name: groups["depName"] ?? templates.depNameTemplate,
        version: groups["currentValue"],
        source: groups["datasource"] ?? templates.datasourceTemplate,
        registry: groups["registryUrl"] ?? templates.registryUrlTemplate,
      })),
    );

  test.each([gpuProviders.operator, gpuProviders.devicePlugin])(
    "reads the versions of a stack with $field that has no comments",
    ({ field, chart, repository }) => {
      const stack = `config:\n  talos-gpu:talosVersion: v1.13.9\n  talos-gpu:${field}:\n    version: 1.2.3\n`;
      expect(versionsIn(stack)).toEqual([
        {
          name: "siderolabs/talos",
          version: "v1.13.9",
          source: "github-releases",
          registry: undefined,
        },
        { name: chart, version: "1.2.3", source: "helm", registry: repository },
      ]);
    },
  );

  test("finds each version of the template's example once", () => {
    const versions = versionsIn(read("templates/talos-gpu-typescript/Pulumi.example.yaml"));
    expect(versions.map(({ name }) => name)).toEqual(["siderolabs/talos", "gpu-operator"]);
  });

  test("applies only to stack files, and has the name that docs/operations.md shows", () => {
    const pattern = new RegExp(managerFilePatterns[0]!.slice(1, -1));
    expect(pattern.test("stacks/Pulumi.velaryon.yaml")).toBe(true);
    for (const file of ["Pulumi.yaml", "a.yaml"]) expect(file).not.toMatch(pattern);
    expect(read("docs/operations.md")).toContain("//renovate/stack");
  });
});

describe("the policy pack", () => {
  test("has a page that lists each policy with its description", () => {
    const rows = [...read("policy/README.md").matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)];
    expect(rows.map(([, name, asks]) => [name, asks])).toEqual(
      policies.map(({ name, description }) => [name, description]),
    );
  });

  test("is a public package with the files that Pulumi needs, without sources", () => {
    const manifest = JSON.parse(read("policy/package.json")) as { main: string; private?: boolean };
    expect(manifest).toMatchObject({ main: "bin/index.js", scripts: { prepack: "npm run build" } });
    expect(manifest.private).toBeUndefined();
    const cwd = path.join(__dirname, "../../policy");
    const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd,
      encoding: "utf8",
    });
    const [{ files: packedFiles }] = JSON.parse(packed) as [{ files: { path: string }[] }];
    const names = packedFiles.map((file) => file.path);
    expect(names).toEqual(
      expect.arrayContaining(["PulumiPolicy.yaml", "README.md", "package.json"]),
    );
    expect(names.filter((name) => name.endsWith(".ts"))).toEqual([]);
  });
});

test("SECURITY.md has the port of every server", () => {
  const servers = Object.values(workloadDescriptors).flatMap(
    ({ server }: WorkloadDescriptor<never>) => server ?? [],
  );
  const text = read("SECURITY.md");
  expect(servers.length).toBeGreaterThan(2);
  for (const { name, port } of servers) expect(text.toLowerCase()).toContain(`${name} ${port}`);
});
