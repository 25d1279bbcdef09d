import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration, type Added } from "../../../components/recipe";
import { contentOf } from "./content";

describe("for any configuration and patches", () => {
  const word = fc.constantFrom("a", "b", "c", "d");
  const value = fc.oneof(word, fc.integer({ min: 0, max: 3 }), fc.boolean());
  const named = <T>(
    key: string,
    rest: fc.Arbitrary<Record<string, T>>,
  ): fc.Arbitrary<Record<string, unknown>[]> =>
    fc
      .uniqueArray(fc.tuple(word, rest), { maxLength: 3, selector: ([name]) => name })
      .map((items) => items.map(([name, more]) => ({ [key]: name, ...more })));
  const machine = fc.record(
    {
      type: word,
      install: fc.record({ image: word, disk: word }, { requiredKeys: [] }),
      sysctls: fc.oneof(fc.dictionary(word, word), fc.constant(null)),
      kernel: fc.record(
        {
          modules: fc.oneof(
            named("name", fc.record({ parameters: fc.uniqueArray(word) }, { requiredKeys: [] })),
            fc.constant(null),
          ),
        },
        { requiredKeys: [] },
      ),
      files: fc.oneof(
        named("path", fc.record({ op: fc.constant("create"), content: word })),
        fc.constant(null),
      ),
      certSANs: fc.uniqueArray(word),
      features: fc.dictionary(word, fc.dictionary(word, value)),
    },
    { requiredKeys: [] },
  );
  const document = fc.record({
    kind: fc.constantFrom("LinkConfig", "UserVolumeConfig"),
    name: word,
    size: value,
  });
  const configuration = fc
    .tuple(
      fc.record({ machine }, { requiredKeys: [] }),
      fc.uniqueArray(document, { maxLength: 3, selector: ({ kind, name }) => `${kind}/${name}` }),
    )
    .map(([main, more]) => [main, ...more].map((part) => stringify(part)).join("---\n"));
  const patches = fc.array(configuration, { maxLength: 3 });
  const same = (a: string, b: string): boolean => isDeepStrictEqual(contentOf(a), contentOf(b));

  test("a second merge changes nothing", () => {
    fc.assert(
      fc.property(configuration, patches, (live, wanted) => {
        const once = mergeConfiguration(live, wanted);
        fc.pre(once.conflicts.length === 0);
        const twice = mergeConfiguration(once.configuration, wanted, once.added);
        return (
          !twice.changed &&
          twice.configuration === once.configuration &&
          isDeepStrictEqual(twice.added, once.added)
        );
      }),
    );
  });

  test("unmerging restores the configuration", () => {
    fc.assert(
      fc.property(configuration, patches, (live, wanted) => {
        const merged = mergeConfiguration(live, wanted);
        fc.pre(merged.conflicts.length === 0);
        return same(unmergeConfiguration(merged.configuration, merged.added), live);
      }),
    );
  });

  test("unmerging restores the configuration after any number of merges", () => {
    fc.assert(
      fc.property(
        configuration,
        fc.array(patches, { minLength: 1, maxLength: 4 }),
        (live, rounds) => {
          let state: { configuration: string; added?: Added } = { configuration: live };
          for (const wanted of rounds) {
            const merged = mergeConfiguration(state.configuration, wanted, state.added);
            if (merged.conflicts.length === 0) state = merged;
          }
          return same(
            unmergeConfiguration(state.configuration, state.added ?? { additions: [] }),
            live,
          );
        },
      ),
    );
  });

  // Marks each mapping and each value as the owner's, since unmerging cannot distinguish equal values of owner and
  // stack.
  const owned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(owned);
    if (typeof value !== "object" || value === null) return `theirs-${String(value)}`;
    const entries = Object.entries(value).filter(
      ([, one]) => one !== null && !(Array.isArray(one) && one.length === 0),
    );
    const identity = ["kind", "name", "path", "op"];
    return {
      theirs: "yes",
      ...Object.fromEntries(
        entries.map(([k, one]) => [k, identity.includes(k) ? one : owned(one)]),
      ),
    };
  };

  test("unmerging restores what another tool wrote between the merges", () => {
    const theirs = configuration.map((text) =>
      contentOf(text)
        .map((part) => stringify(owned(part)))
        .join("---\n"),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.option(theirs), patches), { minLength: 1, maxLength: 4 }),
        (rounds) => {
          let added: Added = { additions: [] };
          let live = "";
          let owners = "";
          for (const [applied, wanted] of rounds) {
            if (applied !== null) owners = live = applied;
            const merged = mergeConfiguration(live, wanted, added);
            if (merged.conflicts.length === 0) ({ configuration: live, added } = merged);
          }
          return same(unmergeConfiguration(live, added), owners);
        },
      ),
    );
  });

  test("a merge writes no file path twice, and keeps other tools' files", () => {
    type Files = { machine?: { files?: { path: string }[] | null } };
    const filesOf = (text: string): { path: string }[] =>
      (contentOf(text)[0] as Files | undefined)?.machine?.files ?? [];
    fc.assert(
      fc.property(configuration, patches, (live, wanted) => {
        const merged = filesOf(mergeConfiguration(live, wanted).configuration);
        const paths = merged.map((file) => file.path);
        return (
          new Set(paths).size === paths.length &&
          filesOf(live).every((file) => merged.some((other) => isDeepStrictEqual(other, file)))
        );
      }),
    );
  });
});
