import fc from "fast-check";
import { closest, didYouMean, editDistance } from "../../components/recipe/rules/suggest";

test.each([
  ["", "abc", 3],
  ["kitten", "sitting", 3],
  ["envvars", "envvar", 1],
  ["talosVerison", "talosVersion", 1],
])("%j becomes %j by %d edits", (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

test("editDistance is symmetric, zero only for equal words, and at most the longer word's length", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

const asciiWord = fc.string({ minLength: 2, maxLength: 8, unit: "binary-ascii" });

test("adding, removing, replacing or swapping one letter is one edit", () => {
  fc.assert(
    fc.property(asciiWord, fc.nat(6), (word, place) => {
      const at = place % (word.length - 1);
      const [before, here, next, after] = [
        word.slice(0, at),
        word[at]!,
        word[at + 1]!,
        word.slice(at + 2),
      ];
      expect(editDistance(word, `${before}${here}${next}${after}é`)).toBe(1);
      expect(editDistance(word, `${before}${next}${after}`)).toBe(1);
      expect(editDistance(word, `${before}é${next}${after}`)).toBe(1);
      expect(editDistance(word, `${before}${next}${here}${after}`)).toBe(here === next ? 0 : 1);
    }),
  );
});

test("with a limit, editDistance is exact up to the limit and above the limit otherwise", () => {
  const word = fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c") });
  fc.assert(
    fc.property(word, word, fc.nat(8), (a, b, most) => {
      const distance = editDistance(a, b);
      if (distance <= most) expect(editDistance(a, b, most)).toBe(distance);
      else expect(editDistance(a, b, most)).toBeGreaterThan(most);
    }),
  );
});

test("with a limit, editDistance reads less than 30 % of the letter pairs of two unlike words", () => {
  const read = jest.spyOn(String.prototype, "charCodeAt");
  editDistance("a".repeat(100), "b".repeat(100), 5);
  const count = read.mock.calls.length;
  read.mockRestore();
  // At least one row of letters, and far fewer than all pairs.
  expect(count).toBeGreaterThan(100);
  expect(count).toBeLessThan(100 * 100 * 0.3);
});

test("the nearest word is proposed, and no word if all are far", () => {
  expect(closest("gpu", ["gpus", "role"])).toBe("gpus");
  expect(closest("MACHINES", ["machines"])).toBe("machines");
  expect(closest("nonsense", ["gpus", "role"])).toBeUndefined();
  expect(didYouMean("productoin", ["lts", "production"])).toBe('did you mean "production"? ');
  expect(didYouMean("xyz", ["production"])).toBe("");
});
