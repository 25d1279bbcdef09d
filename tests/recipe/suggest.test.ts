import fc from "fast-check";
import { closest, didYouMean, editDistance } from "../../components/recipe/rules/suggest";

test.each([
  ["", "abc", 3],
  ["kitten", "sitting", 3],
  ["envvars", "envvar", 1],
  ["talosVerison", "talosVersion", 1],
])("%j to %j takes %d edits", (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

test("is a distance", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});

test("a distance is right up to the one that is of use, and greater beyond", () => {
  const word = fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c") });
  fc.assert(
    fc.property(word, word, fc.nat(8), (a, b, most) => {
      const distance = editDistance(a, b);
      if (distance <= most) expect(editDistance(a, b, most)).toBe(distance);
      else expect(editDistance(a, b, most)).toBeGreaterThan(most);
    }),
  );
});

test("words that have nothing in common are compared no further than the distance that is of use", () => {
  const read = jest.spyOn(String.prototype, "charCodeAt");
  editDistance("a".repeat(100), "b".repeat(100), 5);
  const count = read.mock.calls.length;
  read.mockRestore();
  expect(count).toBeLessThan(100 * 100 * 0.3);
});

test("the nearest word, if it is near", () => {
  expect(closest("gpu", ["gpus", "role"])).toBe("gpus");
  expect(closest("MACHINES", ["machines"])).toBe("machines");
  expect(closest("nonsense", ["gpus", "role"])).toBeUndefined();
  expect(didYouMean("productoin", ["lts", "production"])).toBe('did you mean "production"? ');
  expect(didYouMean("xyz", ["production"])).toBe("");
});
