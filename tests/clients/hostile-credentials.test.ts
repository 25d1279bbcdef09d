import { readKubeconfig } from "../../components/clients/kubernetes/kubeconfig";
import { clusterNamedBy } from "../../components/clients/kubernetes/same-server";

/** Texts that hold a parser for seconds, and the bound that each is beyond. */
const texts: [what: string, text: string, bound: RegExp][] = [
  ["brackets", "[".repeat(100_000), /100 deep/],
  ["blank lines", "\n".repeat(500_000), /100000 words/],
  ["entries", `[${"a,".repeat(60_000)}]`, /50000 entries|100000 words/],
];

test.each(texts)("a kubeconfig of very many %s is refused by a bound", (_, text, bound) => {
  let cause: unknown;
  try {
    readKubeconfig(text);
  } catch (error) {
    ({ cause } = error as Error);
  }
  expect((cause as Error | undefined)?.message).toMatch(bound);
  expect(clusterNamedBy(text)).toBeUndefined();
});
