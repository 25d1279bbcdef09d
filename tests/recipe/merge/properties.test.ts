import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration, type Added } from "../../../components/recipe";
import { contentOf } from "./content";

describe("for any configuration and patches", () => {
  const anyWord = fc.constantFrom("a", "b", "c", "d");
  const anyValue = fc.oneof(anyWord, fc.integer({ min: 0, max: 3 }), fc.boolean());
  const itemsNamedBy = <T>(
    key: string,
    otherFields: fc.Arbitrary<Record<string, T>>,
  ): fc.Arbitrary<Record<string, unknown>[]> =>
    fc
      .uniqueArray(fc.tuple(anyWord, otherFields), { maxLength: 3, selector: ([name]) => name })
      .map((items) => items.map(([name, fields]) => ({ [key]: name, ...fields })));
  const anyMachine = fc.record(
    {
      type: anyWord,
      install: fc.record({ image: anyWord, disk: anyWord }, { requiredKeys: [] }),
      sysctls: fc.oneof(fc.dictionary(anyWord, anyWord), fc.constant(null)),
      kernel: fc.record(
        {
          modules: fc.oneof(
            itemsNamedBy(
              "name",
              fc.record({ parameters: fc.uniqueArray(anyWord) }, { requiredKeys: [] }),
            ),
            fc.constant(null),
          ),
        },
        { requiredKeys: [] },
      ),
      files: fc.oneof(
        itemsNamedBy("path", fc.record({ op: fc.constant("create"), content: anyWord })),
        fc.constant(null),
      ),
      certSANs: fc.uniqueArray(anyWord),
      features: fc.dictionary(anyWord, fc.dictionary(anyWord, anyValue)),
    },
    { requiredKeys: [] },
  );
  const anyDocument = fc.record({
    kind: fc.constantFrom("LinkConfig", "UserVolumeConfig"),
    name: anyWord,
    size: anyValue,
  });
  const anyConfiguration = fc
    .tuple(
      fc.record({ machine: anyMachine }, { requiredKeys: [] }),
      fc.uniqueArray(anyDocument, {
        maxLength: 3,
        selector: ({ kind, name }) => `${kind}/${name}`,
      }),
    )
    .map((documents) =>
      documents
        .flat()
        .map((document) => stringify(document))
        .join("---\n"),
    );
  const anyPatches = fc.array(anyConfiguration, { maxLength: 3 });
  const haveSameContent = (first: string, second: string): boolean =>
    isDeepStrictEqual(contentOf(first), contentOf(second));

  test("a second merge changes nothing", () => {
    fc.assert(
      fc.property(anyConfiguration, anyPatches, (configuration, patches) => {
        const firstMerge = mergeConfiguration(configuration, patches);
        fc.pre(firstMerge.conflicts.length === 0);
        const secondMerge = mergeConfiguration(firstMerge.configuration, patches, firstMerge.added);
        return (
          !secondMerge.changed &&
          secondMerge.configuration === firstMerge.configuration &&
          isDeepStrictEqual(secondMerge.added, firstMerge.added)
        );
      }),
    );
  });

  test("unmerging restores the configuration", () => {
    fc.assert(
      fc.property(anyConfiguration, anyPatches, (configuration, patches) => {
        const merged = mergeConfiguration(configuration, patches);
        fc.pre(merged.conflicts.length === 0);
        return haveSameContent(
          unmergeConfiguration(merged.configuration, merged.added),
          configuration,
        );
      }),
    );
  });

  test("unmerging restores the configuration after any number of merges", () => {
    fc.assert(
      fc.property(
        anyConfiguration,
        fc.array(anyPatches, { minLength: 1, maxLength: 4 }),
        (original, patchesOfMerges) => {
          let configuration = original;
          let added: Added = { additions: [] };
          for (const patches of patchesOfMerges) {
            const merged = mergeConfiguration(configuration, patches, added);
            if (merged.conflicts.length === 0) ({ configuration, added } = merged);
          }
          return haveSameContent(unmergeConfiguration(configuration, added), original);
        },
      ),
    );
  });

  /**
   * The value with a mark of the owner in each mapping and each text. Without the mark, unmerging could not
   * distinguish equal values of owner and stack.
   */
  const markedAsOwners = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(markedAsOwners);
    if (typeof value !== "object" || value === null) return `owner-${String(value)}`;
    const entries = Object.entries(value).filter(
      ([, child]) => child !== null && !(Array.isArray(child) && child.length === 0),
    );
    const identifyingKeys = ["kind", "name", "path", "op"];
    return {
      owner: "yes",
      ...Object.fromEntries(
        entries.map(([key, child]) => [
          key,
          identifyingKeys.includes(key) ? child : markedAsOwners(child),
        ]),
      ),
    };
  };

  test("unmerging restores what another tool wrote between the merges", () => {
    const ownersConfiguration = anyConfiguration.map((text) =>
      contentOf(text)
        .map((part) => stringify(markedAsOwners(part)))
        .join("---\n"),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.option(ownersConfiguration), anyPatches), {
          minLength: 1,
          maxLength: 4,
        }),
        (rounds) => {
          let configuration = "";
          let added: Added = { additions: [] };
          let lastWritten = "";
          for (const [written, patches] of rounds) {
            if (written !== null) {
              lastWritten = written;
              configuration = written;
            }
            const merged = mergeConfiguration(configuration, patches, added);
            if (merged.conflicts.length === 0) ({ configuration, added } = merged);
          }
          return haveSameContent(unmergeConfiguration(configuration, added), lastWritten);
        },
      ),
    );
  });

  test("a merge writes no file path twice, and keeps other tools' files", () => {
    type Files = { machine?: { files?: { path: string }[] | null } };
    const filesOf = (text: string): { path: string }[] =>
      (contentOf(text)[0] as Files | undefined)?.machine?.files ?? [];
    fc.assert(
      fc.property(anyConfiguration, anyPatches, (configuration, patches) => {
        const mergedFiles = filesOf(mergeConfiguration(configuration, patches).configuration);
        const paths = mergedFiles.map((file) => file.path);
        return (
          new Set(paths).size === paths.length &&
          filesOf(configuration).every((file) =>
            mergedFiles.some((mergedFile) => isDeepStrictEqual(mergedFile, file)),
          )
        );
      }),
    );
  });
});
