import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { contentOf } from "./content";

describe("a rule of image verification", () => {
  const rules = (...items: object[]): string =>
    stringify({ kind: "ImageVerificationConfig", rules: items });
  const live = rules({ image: "a/*", keyless: { issuer: "theirs" } });

  test("gets the patches' content, and unmerging restores the machine's content", () => {
    const first = mergeConfiguration(live, [rules({ image: "a/*", skip: true })]);
    const second = mergeConfiguration(
      first.configuration,
      [rules({ image: "a/*", skip: false })],
      first.added,
    );
    expect(contentOf(second.configuration)).toEqual(
      contentOf(rules({ image: "a/*", skip: false })),
    );
    // A run whose answer was lost has already written this rule, so it still belongs to the stack.
    const unheard = mergeConfiguration(
      second.configuration,
      [rules({ image: "a/*", skip: false })],
      first.added,
    );
    for (const { configuration, added } of [second, unheard])
      expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(contentOf(live));
  });

  test("gets the machine's content back when it leaves the patches", () => {
    const first = mergeConfiguration(live, [rules({ image: "a/*", skip: true })]);
    expect(
      contentOf(mergeConfiguration(first.configuration, [], first.added).configuration),
    ).toEqual(contentOf(live));
  });

  test("stays after unmerging if another tool has changed it since the merge", () => {
    const first = mergeConfiguration(live, [rules({ image: "a/*", skip: true })]);
    const theirs = rules({ image: "a/*", keyless: { issuer: "later" } });
    expect(contentOf(unmergeConfiguration(theirs, first.added))).toEqual(contentOf(theirs));
  });
});

describe("search domains", () => {
  const resolver = (...domains: string[]): string =>
    stringify({ kind: "ResolverConfig", searchDomains: { domains } });

  test.each([
    ["v1.14.1", ["ours"]],
    ["v1.15.0-beta.0", ["ours"]],
    ["v1.14.0", ["theirs", "ours"]],
    ["v1.13.9", ["theirs", "ours"]],
  ])(
    "are merged as Talos %s does, and unmerging restores the machine's domains",
    (release, domains) => {
      const live = resolver("theirs");
      const { configuration, added } = mergeConfiguration(
        live,
        [resolver("ours")],
        undefined,
        release,
      );
      expect(contentOf(configuration)).toEqual(contentOf(resolver(...domains)));
      expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(contentOf(live));
    },
  );
});
