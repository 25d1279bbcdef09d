import fc from "fast-check";
import {
  parseTaint,
  taintEffects,
  tolerates,
  tolerationOf,
  tolerationsFor,
} from "../../../components/recipe/machine/taints";

test.each([
  ["true:NoSchedule", { key: "gpu", value: "true", effect: "NoSchedule" }],
  [":NoExecute", { key: "gpu", effect: "NoExecute" }],
])("the text %j is parsed as the taint %j", (text, taint) =>
  expect(parseTaint("gpu", text)).toEqual(taint),
);

test.each(["true", "true:Never", ""])("the text %j is no taint", (text) =>
  expect(parseTaint("gpu", text)).toBeUndefined(),
);

test.each([
  [{ key: "gpu", operator: "Exists" }, true],
  [{ operator: "Exists" }, true],
  [{ key: "gpu", operator: "Equal", value: "true" }, true],
  [{ key: "gpu", value: "true", effect: "NoSchedule" }, true],
  [{ key: "gpu", operator: "Equal", value: "false" }, false],
  [{ key: "gpu", operator: "Exists", effect: "NoExecute" }, false],
  [{ key: "other", operator: "Exists" }, false],
  [{}, false],
] as const)("%j tolerates gpu=true:NoSchedule: %j", (toleration, expected) => {
  expect(tolerates(toleration, { key: "gpu", value: "true", effect: "NoSchedule" })).toBe(expected);
});

test("of any list of taints, each is tolerated, and no toleration occurs twice", () => {
  const anyTaint = fc.record({
    key: fc.constantFrom("gpu", "nvidia.com/gpu", "a/b"),
    value: fc.constantFrom("", "true"),
    effect: fc.constantFrom(...taintEffects),
  });
  fc.assert(
    fc.property(fc.array(anyTaint), (rawTaints) => {
      const taints = rawTaints.map(({ key, value, effect }) => ({
        key,
        effect,
        ...(value === "" ? {} : { value }),
      }));
      const tolerations = tolerationsFor(taints);
      for (const taint of taints) {
        expect(tolerates(tolerationOf(taint), taint)).toBe(true);
        expect(tolerations.some((toleration) => tolerates(toleration, taint))).toBe(true);
      }
      expect(new Set(tolerations.map((toleration) => JSON.stringify(toleration))).size).toBe(
        tolerations.length,
      );
    }),
  );
});
