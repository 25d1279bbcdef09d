import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { contentOf } from "./content";

describe("a rule of image verification", () => {
  const ruleDocument = (...items: object[]): string =>
    stringify({ kind: "ImageVerificationConfig", rules: items });
  const machineRule = ruleDocument({ image: "a/*", keyless: { issuer: "machine" } });

  test("gets the patches' content, and unmerging restores the machine's content", () => {
    const firstMerge = mergeConfiguration(machineRule, [
      ruleDocument({ image: "a/*", skip: true }),
    ]);
    const secondMerge = mergeConfiguration(
      firstMerge.configuration,
      [ruleDocument({ image: "a/*", skip: false })],
      firstMerge.added,
    );
    expect(contentOf(secondMerge.configuration)).toEqual(
      contentOf(ruleDocument({ image: "a/*", skip: false })),
    );
    // A run whose answer was lost has already written this rule, so it still belongs to the stack.
    const repeatedMerge = mergeConfiguration(
      secondMerge.configuration,
      [ruleDocument({ image: "a/*", skip: false })],
      firstMerge.added,
    );
    for (const { configuration, added } of [secondMerge, repeatedMerge])
      expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(contentOf(machineRule));
  });

  test("gets the machine's content back when it leaves the patches", () => {
    const first = mergeConfiguration(machineRule, [ruleDocument({ image: "a/*", skip: true })]);
    expect(
      contentOf(mergeConfiguration(first.configuration, [], first.added).configuration),
    ).toEqual(contentOf(machineRule));
  });

  test("stays after unmerging if another tool has changed it since the merge", () => {
    const first = mergeConfiguration(machineRule, [ruleDocument({ image: "a/*", skip: true })]);
    const changedRule = ruleDocument({ image: "a/*", keyless: { issuer: "later" } });
    expect(contentOf(unmergeConfiguration(changedRule, first.added))).toEqual(
      contentOf(changedRule),
    );
  });
});

describe("search domains", () => {
  const resolverDocument = (...domains: string[]): string =>
    stringify({ kind: "ResolverConfig", searchDomains: { domains } });

  test.each([
    ["v1.14.1", ["stack.example"]],
    ["v1.15.0-beta.0", ["stack.example"]],
    ["v1.14.0", ["machine.example", "stack.example"]],
    ["v1.13.9", ["machine.example", "stack.example"]],
  ])(
    "are merged as Talos %s does, and unmerging restores the machine's domains",
    (release, domains) => {
      const machineResolver = resolverDocument("machine.example");
      const { configuration, added } = mergeConfiguration(
        machineResolver,
        [resolverDocument("stack.example")],
        undefined,
        release,
      );
      expect(contentOf(configuration)).toEqual(contentOf(resolverDocument(...domains)));
      expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(
        contentOf(machineResolver),
      );
    },
  );
});
