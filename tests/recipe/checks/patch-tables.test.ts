import { checkCluster } from "../../../components/recipe";
import { patchFindings } from "../../../components/recipe/machine/patch-findings";
import { talosDocuments, valueOfDocument } from "../../../components/recipe/rules/yaml";
import { type Secret, secretsIn } from "../../../components/recipe/machine/secrets";
import { containerdParts } from "./patches/containerd";
import { rightPatches } from "./patches/right";
import { patchesWithoutSecrets, patchesWithSecrets } from "./patches/secrets";
import { wrongPatches } from "./patches/wrong";

/** The findings on a patch, with their paths and remedies. */
const renderedFindings = (patch: string, minor: number): string[] => {
  const documents = talosDocuments(patch);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return patchFindings(documents, { minor, isKnown: true }).map(
    ({ path, problem, remedy }) => `${path} ${problem}; ${remedy}`,
  );
};

/** Whether no letter or digit is next to the text between two parts of a split text. */
const isWholeWord = (parts: string[], index: number): boolean =>
  index + 1 < parts.length && !/\w$/.test(parts[index]!) && !/^\w/.test(parts[index + 1]!);

describe("patches, compared with Talos' decoder", () => {
  test.each(rightPatches.map(({ talosMinor = 12, patch }) => [talosMinor, patch] as const))(
    "for Talos 1.%i, the patch %j is accepted",
    (talosMinor, patch) => expect(renderedFindings(patch, talosMinor)).toEqual([]),
  );

  test.each(
    wrongPatches.map(({ talosMinor = 12, patch, says }) => [talosMinor, patch, says] as const),
  )("for Talos 1.%i, the patch %j is refused", (talosMinor, patch, messagePart) => {
    const findings = renderedFindings(patch, talosMinor);
    expect(findings).toEqual([expect.stringContaining(messagePart)]);
    // Whole words: for `names`, a message that does not name `name` must not pass.
    expect(findings[0]!.split(messagePart).some((_, i, parts) => isWholeWord(parts, i))).toBe(true);
  });

  test("for an unknown Talos release, fields and documents that no schema has are accepted", () => {
    const countFindings = (patch: string): number =>
      patchFindings(talosDocuments(patch), { minor: 14, isKnown: false }).length;
    expect(countFindings("machine: {newThing: {a: b}}\n")).toBe(0);
    expect(countFindings("apiVersion: v1alpha1\nkind: NewConfig\n")).toBe(0);
    expect(countFindings("machine: {sysctls: [a]}\n")).toBe(1);
  });
});

describe("secrets in patches", () => {
  const secretsOf = (patch: string): Secret[] =>
    talosDocuments(patch).flatMap((document) => {
      expect(document.errors).toEqual([]);
      const value = valueOfDocument(document) as { kind?: string };
      return secretsIn(value, value.kind ?? "");
    });

  test.each(patchesWithSecrets.map(({ patch, path, remedy }) => [path, patch, remedy] as const))(
    "the secret at %s is found in %j",
    (path, patch, remedy) => {
      const [firstSecret] = secretsOf(patch);
      expect(firstSecret?.path).toContain(path);
      if (remedy !== undefined) expect(firstSecret?.remedy).toContain(remedy);
    },
  );
  test.each(patchesWithoutSecrets)("no secret is found in %j", (patch) =>
    expect(secretsOf(patch)).toEqual([]),
  );
});

describe("extra of containerd", () => {
  /** The findings on a machine whose containerd has this part in addition. */
  const containerdFindings = (extra: string, talosVersion: string): string =>
    checkCluster({
      talosVersion,
      machines: {
        a: {
          address: "10.0.0.1",
          role: "worker",
          configuration: "adopted",
          gpus: [{ model: "L4" }],
          containerd: { extra },
        },
      },
      devicePlugin: { version: talosVersion.startsWith("v1.13") ? "0.18.2" : "0.17.4" },
    })
      .filter(({ field }) => field.includes("containerd"))
      .map(({ problem, remedy }) => `${problem}; ${remedy}`)
      .join("\n");

  const acceptedParts = containerdParts.filter(({ says }) => says === undefined);
  test.each(
    acceptedParts.map(({ talosVersion = "v1.12.6", part }) => [talosVersion, part] as const),
  )("for Talos %s, the containerd part %j is accepted", (talosVersion, part) =>
    expect(containerdFindings(part, talosVersion)).toBe(""),
  );

  const refusedParts = containerdParts.filter(({ says }) => says !== undefined);
  test.each(
    refusedParts.map(
      ({ talosVersion = "v1.12.6", part, says }) => [talosVersion, part, says!] as const,
    ),
  )("for Talos %s, the containerd part %j is refused", (talosVersion, part, messagePart) =>
    expect(containerdFindings(part, talosVersion)).toContain(messagePart),
  );
});
