import fc from "fast-check";
import { nearestWord, didYouMean, editDistance } from "../../components/recipe/rules/suggest";

test.each([
  ["", "abc", 3],
  ["kitten", "sitting", 3],
  ["envvars", "envvar", 1],
  ["talosVerison", "talosVersion", 1],
])("the edit distance between %j and %j is %d", (first, second, distance) =>
  expect(editDistance(first, second)).toBe(distance),
);

test("editDistance is symmetric, zero only for equal words, and at most the longer word's length", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (first, second) => {
      expect(editDistance(first, second)).toBe(editDistance(second, first));
      expect(editDistance(first, second) === 0).toBe(first === second);
      expect(editDistance(first, second)).toBeLessThanOrEqual(
        Math.max(first.length, second.length),
      );
    }),
  );
});

const asciiWord = fc.string({ minLength: 2, maxLength: 8, unit: "binary-ascii" });

test("adding, removing, replacing or swapping one letter is one edit", () => {
  fc.assert(
    fc.property(asciiWord, fc.nat(6), (word, number) => {
      const index = number % (word.length - 1);
      const start = word.slice(0, index);
      const letter = word[index]!;
      const nextLetter = word[index + 1]!;
      const end = word.slice(index + 2);
      expect(editDistance(word, `${start}${letter}${nextLetter}${end}é`)).toBe(1);
      expect(editDistance(word, `${start}${nextLetter}${end}`)).toBe(1);
      expect(editDistance(word, `${start}é${nextLetter}${end}`)).toBe(1);
      expect(editDistance(word, `${start}${nextLetter}${letter}${end}`)).toBe(
        letter === nextLetter ? 0 : 1,
      );
    }),
  );
});

test("with a limit, editDistance is exact up to the limit and above the limit otherwise", () => {
  const word = fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c") });
  fc.assert(
    fc.property(word, word, fc.nat(8), (first, second, limit) => {
      const distance = editDistance(first, second);
      if (distance <= limit) expect(editDistance(first, second, limit)).toBe(distance);
      else expect(editDistance(first, second, limit)).toBeGreaterThan(limit);
    }),
  );
});

test("with a limit, editDistance reads less than 30 % of the letter pairs of two unlike words", () => {
  const charCodeAt = jest.spyOn(String.prototype, "charCodeAt");
  editDistance("a".repeat(100), "b".repeat(100), 5);
  const readLetters = charCodeAt.mock.calls.length;
  charCodeAt.mockRestore();
  // At least one row of letters, and far fewer than all pairs.
  expect(readLetters).toBeGreaterThan(100);
  expect(readLetters).toBeLessThan(100 * 100 * 0.3);
});

test("the nearest word is proposed, and no word if all are far", () => {
  expect(nearestWord("gpu", ["gpus", "role"])).toBe("gpus");
  expect(nearestWord("MACHINES", ["machines"])).toBe("machines");
  expect(nearestWord("nonsense", ["gpus", "role"])).toBeUndefined();
  expect(didYouMean("productoin", ["lts", "production"])).toBe('did you mean "production"? ');
  expect(didYouMean("xyz", ["production"])).toBe("");
});
