import * as fs from "node:fs";
import * as path from "node:path";
import Ajv from "ajv";
import fc from "fast-check";
import { parse } from "yaml";
import { findingsOf } from "../../components/recipe";
import * as rules from "../../components/recipe/rules";
import { stackSchemaFile } from "../../generate/schema/main";
import { stackFileSchema } from "../../generate/schema/json-schema";
import { mistakes } from "../recipe/checks/mistakes";
import { changedStack } from "../recipe/stacks";
import { repository, stacksDir } from "../../stacks/stack-file";
import { stacks } from "../support/stacks";

const ajv = new Ajv({ allErrors: true });
const validate = ajv.compile(stackFileSchema());
const fixtures = path.join(repository, "tests/fixtures");
const read = (file: string): unknown => parse(fs.readFileSync(file, "utf8"));
const fixtureNames = (folder: string): string[] =>
  fs.readdirSync(path.join(fixtures, folder)).sort();

/** A stack file with the content of a fixture. */
function asStackFile(stack: unknown): unknown {
  const config = Object.entries(stack as object).map(([key, value]): [string, unknown] => [
    `talos-gpu:${key}`,
    value,
  ]);
  return { config: Object.fromEntries(config) };
}

/** Errors of the schema on a stack file. */
function schemaErrors(file: unknown): string[] {
  validate(file);
  return (validate.errors ?? []).map(({ schemaPath, message, params }) =>
    [schemaPath, message, JSON.stringify(params)].join(" "),
  );
}

test.each(stacks)(
  "the stack file of %s names the schema in its first line, and is valid",
  (name) => {
    const file = path.join(stacksDir, `Pulumi.${name}.yaml`);
    const [, schemaPath] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(
      fs.readFileSync(file, "utf8"),
    )!;
    expect(path.join(stacksDir, schemaPath!)).toBe(stackSchemaFile);
    expect(schemaErrors(read(file))).toEqual([]);
  },
);

test.each(fixtureNames("valid"))("the schema accepts %s", (file) => {
  expect(schemaErrors(asStackFile(read(path.join(fixtures, "valid", file))))).toEqual([]);
});

// An editor marks exactly the mistakes of shape that a preview refuses. Mistakes of meaning are found only by the
// preview.
test.each(mistakes)(
  "the schema refuses the stack if and only if the check `shape` does: $name",
  (mistake) => {
    const stack = changedStack(mistake);
    const shape = findingsOf(stack).filter(({ check }) => check === "shape");
    expect({ shape: shape.length > 0, errors: schemaErrors(asStackFile(stack)) }).toEqual({
      shape: shape.length > 0,
      errors: shape.length > 0 ? expect.arrayContaining([expect.any(String)]) : [],
    });
  },
);

test("the schema accepts keys of Pulumi and of other projects, but no misspelt or missing key", () => {
  const { config } = asStackFile(read(path.join(fixtures, "valid/frank.yaml"))) as {
    config: object;
  };
  const { "talos-gpu:talosVersion": talosVersion, ...otherKeys } = config as Record<
    string,
    unknown
  >;
  const file = {
    encryptionsalt: "v1:a2V5",
    config: {
      ...otherKeys,
      talosVersion, // the project's own key, without the project's name
      "kubernetes:context": "home",
      "talos-gpu:talosconfig": { secure: "v1:c2VjcmV0" },
    },
  };
  expect(schemaErrors(file)).toEqual([]);
  expect(schemaErrors({ config: { ...config, "talos-gpu:talosconfg": "" } })).toHaveLength(1);
  expect(schemaErrors({ config: otherKeys })).not.toEqual([]);
});

const rulesWithPattern = Object.entries(rules).filter(
  (entry): entry is [string, rules.Rule & { pattern: string }] =>
    typeof entry[1] === "function" && "pattern" in entry[1],
);

test.each(rulesWithPattern)(
  "the pattern of %s matches every text that the rule accepts",
  (_name, rule) => {
    const pattern = new RegExp(rule.pattern, "u");
    let acceptedCount = 0;
    const similarTexts = fc
      .stringMatching(new RegExp(rule.pattern))
      .chain((text) =>
        fc.constantFrom(text, text.toUpperCase(), `+${text}`, text.slice(1), `${text}.`),
      );
    fc.assert(
      fc.property(fc.oneof(similarTexts, fc.string(), fc.webUrl()), (text) => {
        if (rule(text) !== undefined) return;
        acceptedCount++;
        expect(text).toMatch(pattern);
      }),
      { numRuns: 2_000 }, // of a thousand random texts of this form, the rule accepts only a few
    );
    expect(acceptedCount).toBeGreaterThan(0);
  },
);
