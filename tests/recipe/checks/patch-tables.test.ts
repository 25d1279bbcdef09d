import { checkCluster } from "../../../components/recipe";
import { patchFindings } from "../../../components/recipe/machine/patch-findings";
import { talosDocuments, valueOfDocument } from "../../../components/recipe/rules/yaml";
import { type Secret, secretsIn } from "../../../components/recipe/machine/secrets";
import { containerdParts } from "./patches/containerd";
import { rightPatches } from "./patches/right";
import { patchesWithoutSecrets, patchesWithSecrets } from "./patches/secrets";
import { wrongPatches } from "./patches/wrong";

const flawsOf = (patch: string, minor: number): string[] => {
  const documents = talosDocuments(patch);
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return patchFindings(documents, { minor, isKnown: true }).map(
    ({ path, problem, remedy }) => `${path} ${problem}; ${remedy}`,
  );
};

describe("patches, compared with Talos' decoder", () => {
  test.each(rightPatches.map(({ talos = 12, patch }) => [talos, patch] as const))(
    "for Talos 1.%i, the patch %j is accepted",
    (talos, patch) => expect(flawsOf(patch, talos)).toEqual([]),
  );

  test.each(wrongPatches.map(({ talos = 12, patch, says }) => [talos, patch, says] as const))(
    "for Talos 1.%i, the patch %j is refused",
    (talos, patch, says) => expect(flawsOf(patch, talos).join("\n")).toContain(says),
  );

  test("for an unknown Talos release, fields and documents that no schema has are accepted", () => {
    const loose = (patch: string): number =>
      patchFindings(talosDocuments(patch), { minor: 14, isKnown: false }).length;
    expect(loose("machine: {newThing: {a: b}}\n")).toBe(0);
    expect(loose("apiVersion: v1alpha1\nkind: NewConfig\n")).toBe(0);
    expect(loose("machine: {sysctls: [a]}\n")).toBe(1);
  });
});

describe("secrets in patches", () => {
  const secretsOf = (patch: string): Secret[] =>
    talosDocuments(patch).flatMap((document) => {
      expect(document.errors).toEqual([]);
      const value = valueOfDocument(document) as { kind?: string };
      return secretsIn(value, value.kind ?? "");
    });

  test.each(patchesWithSecrets.map(({ patch, at, remedy }) => [at, patch, remedy] as const))(
    "the secret at %s is found in %j",
    (at, patch, remedy = "") => {
      const [first] = secretsOf(patch);
      expect(first?.path).toContain(at);
      expect(first?.remedy).toContain(remedy);
    },
  );
  test.each(patchesWithoutSecrets)("no secret is found in %j", (patch) =>
    expect(secretsOf(patch)).toEqual([]),
  );
});

describe("extra of containerd", () => {
  const saidOf = (extra: string, talosVersion: string): string =>
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

  const rows = containerdParts.map(
    ({ talos = "v1.12.6", part, says }) => [talos, part, says ?? ""] as const,
  );
  test.each(rows.filter(([, , says]) => says === ""))(
    "for Talos %s, the containerd part %j is accepted",
    (talos, part) => expect(saidOf(part, talos)).toBe(""),
  );

  test.each(rows.filter(([, , says]) => says !== ""))(
    "for Talos %s, the containerd part %j is refused",
    (talos, part, says) => expect(saidOf(part, talos)).toContain(says),
  );
});
