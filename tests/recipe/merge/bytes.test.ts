import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { fixture } from "../../support/fixture";
import { stackPatches } from "./stack-patches";

/** A configuration that Talos v1.14.1 generated, with its comments; its secrets are invented. */
const generatedConfiguration = fixture("configurations/talosctl-1.14-controlplane.yaml.txt");

const filePatch = (content: string): string =>
  `machine:\n  files:\n    - path: /var/lib/a.conf\n      op: create\n      permissions: 0o644\n      content: |\n${content
    .split("\n")
    .map((line) => (line === "" ? "" : `        ${line}`))
    .join("\n")}\n`;

test.each<[content: string, patches: string[]]>([
  [
    "a module and a sysctl",
    ['machine: { kernel: { modules: [{ name: nvidia }] }, sysctls: { a.b: "1" } }'],
  ],
  ["a field of cluster", ["cluster: { etcd: { extraArgs: { a: b } } }"]],
  [
    "fields of documents",
    ["machine: { nodeLabels: { a: b }, kubelet: { extraArgs: { v: '4' } } }"],
  ],
  ["a document", ["apiVersion: v1alpha1\nkind: SysctlConfig\nparams: { a.b: '1' }\n"]],
  ["a file with blank lines", [filePatch("one\n\n\ntwo\n")]],
  ["all patches of a GPU machine", stackPatches],
])(
  "merging %s keeps every line that talosctl 1.14 generated, except those of images, and unmerging restores the whole text",
  (_, patches) => {
    const { configuration, added, conflicts } = mergeConfiguration(generatedConfiguration, patches);
    expect(conflicts).toEqual([]);
    const lines = configuration.split("\n");
    let position = 0;
    const lostLines: string[] = [];
    for (const line of generatedConfiguration.split("\n")) {
      const index = lines.indexOf(line, position);
      if (index < 0) lostLines.push(line);
      else position = index + 1;
    }
    // The patches replace installer images.
    expect(lostLines.filter((line) => !/^\s+image: /.test(line))).toEqual([]);
    expect(unmergeConfiguration(configuration, added)).toBe(generatedConfiguration);
  },
);
