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

test("the nearest word, if it is near", () => {
  expect(closest("gpu", ["gpus", "role"])).toBe("gpus");
  expect(closest("MACHINES", ["machines"])).toBe("machines");
  expect(closest("nonsense", ["gpus", "role"])).toBeUndefined();
  expect(didYouMean("productoin", ["lts", "production"])).toBe('did you mean "production"? ');
  expect(didYouMean("xyz", ["production"])).toBe("");
});
