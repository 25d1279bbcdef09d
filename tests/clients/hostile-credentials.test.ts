import { clusterNamedBy } from "../../components/clients/kubernetes/same-server";
import { readTalosconfig } from "../../components/clients/talos/talosconfig";
import { boundedYaml } from "../../components/recipe/rules/yaml";

/** Texts that would keep a parser busy for seconds, and the bound that refuses each. */
const texts: [what: string, text: string, bound: RegExp][] = [
  ["brackets", "[".repeat(100_000), /100 deep/],
  ["blank lines", "\n".repeat(500_000), /100000 YAML tokens/],
  ["entries", `[${"a,".repeat(60_000)}]`, /50000 entries|100000 YAML tokens/],
];

test.each(texts)("credentials with too many %s are refused", (_, text, bound) => {
  expect(() => boundedYaml(text)).toThrow(bound);
  expect(clusterNamedBy(text)).toBeUndefined();
  expect(readTalosconfig(text, {}).problem?.problem).toMatch(/YAML/);
});
