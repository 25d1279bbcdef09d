import { availableParallelism } from "node:os";
import { ampleMemory } from "../../../../lab/tools/ways/go";

const perCore = (gibibytes: number): number => gibibytes * 1024 ** 3 * availableParallelism();

test("compilers collect hardly any garbage where each core has memory for it", () => {
  expect(ampleMemory({}, perCore(3))).toEqual({ GOGC: "off", GOMEMLIMIT: "2GiB" });
});

test("compilers collect garbage as always where memory is short", () => {
  expect(ampleMemory({}, perCore(3) - 1)).toEqual({});
});

test.each(["GOGC", "GOMEMLIMIT"])("a user's own %s stays", (variable) => {
  expect(ampleMemory({ [variable]: "50" }, perCore(12))).toEqual({});
});
