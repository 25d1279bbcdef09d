import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { findingsOf, planCluster, type ClusterSpec } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { only } from "../support/table";

/**
 * A stack of tests/fixtures/valid, the path of a field with blanks between its keys, and values that take the place of its own.
 * tests/fixtures/inputs has what a user of Kubernetes, Talos, NVIDIA's parts and Pulumi would write, right and wrong, over all fields.
 */
interface Inputs {
  base: string;
  at: string;
  /** The check that refuses them. Default: they are right. */
  check?: string;
  values: unknown[];
}

const group = (base: string, at: string, values: unknown[], check?: string): Inputs => ({
  base,
  at,
  values,
  ...(check === undefined ? {} : { check }),
});
const long = "a".repeat(100_000);

/** What YAML cannot say, or nobody would read: a field that is not there, and texts without end. */
const unsayable: Record<"right" | "wrong", Inputs[]> = {
  right: [
    group("modern", "upgrade", [undefined]),
    group("aarhus-h100", "devicePlugin namespace", [undefined]),
    group("mig", "sharing mig", [undefined]),
    group("rtx3090-timeslicing", "machines gpu-a powerLimit", [undefined]),
  ],
  wrong: [
    group("rtx5070ti", "talosVersion", [undefined, long], "shape"),
    group("rtx5070ti", "gpuOperator version", [undefined], "shape"),
    group("mig", "sharing mig profile", [undefined], "shape"),
    group("velaryon", "machines velaryon address", [undefined, long.repeat(11)], "shape"),
    group("velaryon", "machines velaryon role", [undefined], "shape"),
    group("velaryon", "machines velaryon configuration", [undefined], "shape"),
    group("velaryon", "machines velaryon extensions", [[long]], "shape"),
    group("velaryon", "machines velaryon extensions", [[long.slice(0, 4000)]], "extension-name"),
    group("three-generations", "machines", [undefined], "gpu-machine"),
    group("three-generations", "machines", [{ [long]: { address: "10.9.9.9" } }], "shape"),
  ],
};

function inputs(which: "right" | "wrong"): Inputs[] {
  const folder = path.join(__dirname, "../fixtures/inputs", which);
  const read = (file: string): Inputs[] =>
    parse(fs.readFileSync(path.join(folder, file), "utf8")) as Inputs[];
  const rows = fs.readdirSync(folder).flatMap(read);
  return [...rows.map((row) => only(row, ["base", "at", "check", "values"])), ...unsayable[which]];
}

/** A stack with another value at a path; undefined takes the field away. */
function withValue(stack: unknown, at: string, value: unknown): unknown {
  const copy = structuredClone(stack) as Record<string, any>;
  const keys = at.split(" ");
  const last = keys.pop() ?? "";
  let parent: Record<string, any> = copy;
  for (const key of keys) {
    if (!Object.hasOwn(parent, key)) parent[key] = {};
    parent = parent[key];
  }
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else
    Object.defineProperty(parent, last, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return copy;
}

const count = (groups: Inputs[]): number =>
  groups.reduce((sum, { values }) => sum + values.length, 0);

test("the tables are wide", () => {
  expect(count(inputs("right"))).toBeGreaterThanOrEqual(480);
  expect(count(inputs("wrong"))).toBeGreaterThanOrEqual(982);
});

test.each(inputs("right").map((one, index) => ({ ...one, index })))(
  "right: $index $base $at",
  ({ base, at, values }) => {
    const refused = values
      .map((value) => ({ value, stack: withValue(validStack(base), at, value) }))
      .map(({ value, stack }) => ({ value, findings: findingsOf(stack), stack }))
      .filter(({ findings, stack }) => findings.length > 0 || !planCluster(stack as ClusterSpec));
    expect(refused.map(({ value, findings }) => ({ value, findings }))).toEqual([]);
  },
);

test.each(inputs("wrong").map((one, index) => ({ ...one, index })))(
  "wrong: $index $base $at, $check",
  ({ base, at, check, values }) => {
    for (const value of values) {
      const findings = findingsOf(withValue(validStack(base), at, value));
      expect({ value, checks: findings.map((finding) => finding.check) }).toEqual({
        value,
        checks: expect.arrayContaining([check]),
      });
      for (const { field, problem, remedy } of findings) {
        // No message repeats a text without end, nor a secret.
        expect(`${field}${problem}${remedy}`.length).toBeLessThan(3000);
        expect(problem + remedy).not.toContain("abcdefghijklmnopqrstuvwxyz");
      }
    }
  },
);
