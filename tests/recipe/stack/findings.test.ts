import { InvalidStackError, renderFindings, type Finding } from "../../../components/recipe/index";

const finding = (field: string): Finding => ({
  check: "c",
  field,
  problem: "is wrong",
  why: "it matters",
  remedy: "mend it",
});

test("one line each, numbered", () => {
  expect(renderFindings([finding("a"), finding("b.c")])).toBe(
    "1. a: is wrong; it matters; mend it\n2. b.c: is wrong; it matters; mend it",
  );
  expect(renderFindings([])).toBe("");
});

test("the error holds them all", () => {
  const error = new InvalidStackError([finding("a")]);
  expect(error.message).toBe("the stack has a mistake; nothing was contacted:\n1. a: is wrong; it matters; mend it");
  expect(error.findings).toEqual([finding("a")]);
  expect(error.name).toBe("InvalidStackError");
});
