import * as fc from "fast-check";
import {
  conceal,
  containsUnknown,
  differences,
  fromStruct,
  type Path,
  reveal,
  secret,
  toStruct,
  UNKNOWN,
} from "../../providers/values";

const key = fc.stringMatching(/^[a-z]{1,6}$/);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string(),
    // JSON, which the expectation goes through, has no negative zero.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.boolean(),
    fc.constant(null),
    fc.constant(UNKNOWN),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
    tie("value").map(secret),
  ),
}));
const properties = fc.dictionary(key, value, { maxKeys: 4, noNullPrototype: true });

test("secrets that are taken off and put back are where they were", () => {
  fc.assert(
    fc.property(properties, (marked) => {
      const { plain, secrets } = reveal(marked);
      const again = conceal(plain, secrets);
      expect(reveal(again)).toEqual({ plain, secrets });
      expect(reveal(plain).secrets).toEqual([]);
    }),
  );
});

test("values survive the wire", () => {
  fc.assert(
    fc.property(properties, (values) =>
      expect(fromStruct(toStruct(values))).toEqual(JSON.parse(JSON.stringify(values))),
    ),
  );
});

test.each<[string, unknown, Path[], unknown]>([
  ["a path that is not there", { a: 1 }, [["b"]], { a: 1 }],
  ["a path into a scalar hides the scalar", { a: 1 }, [["a", "b"]], { a: secret(1) }],
  ["a path past a list's end hides the list", { a: [1] }, [["a", 3]], { a: secret([1]) }],
  ["one item of a list", { a: [1, 2] }, [["a", 1]], { a: [1, secret(2)] }],
  ["what is hidden already", { a: secret(1) }, [["a"]], { a: secret(1) }],
])("conceal: %s", (_name, plain, secrets, expected) => {
  expect(conceal(plain, secrets)).toEqual(expected);
});

test.each([
  [{ a: 1 }, { a: 1 }, {}],
  [{ a: 1 }, { a: 2, b: 1 }, { a: "update", b: "add" }],
  [{ a: [{ b: 1 }, 2] }, { a: [{ b: 2 }] }, { "a[0].b": "update", "a[1]": "delete" }],
  [{ labels: { "nvidia.com/gpu": "x" } }, { labels: {} }, { 'labels["nvidia.com/gpu"]': "delete" }],
  [{ a: [1] }, { a: { 0: 1 } }, { a: "update" }],
  [{ a: "known" }, { a: UNKNOWN }, { a: "update" }],
])("differences of %j and %j", (olds, news, expected) => {
  expect(differences(olds, news)).toEqual(expected);
});

test("unknowns are found at any depth", () => {
  expect(containsUnknown({ a: [{ b: UNKNOWN }] })).toBe(true);
  expect(containsUnknown({ a: [{ b: "known" }] })).toBe(false);
});
