import { anyText, isMapping, mappingAt } from "../../components/recipe/mapping";
import { yamlIn } from "../../components/recipe/rules/yaml";

/**
 * Files of variables next to talconfig.yaml that talhelper reads by default (talhelper, cmd/genconfig.go,
 * `--env-file`).
 */
export const environmentFiles = [
  "talenv.yaml",
  "talenv.sops.yaml",
  "talenv.yml",
  "talenv.sops.yml",
];

/** Variables of a talenv.yaml, without those that SOPS encrypts. Never throws. */
export function variablesOf(text: string): Record<string, string> {
  const content = mappingAt(yamlIn(text));
  const plain = Object.entries(content).filter(
    ([key, value]) => key !== "sops" && !isMapping(value) && value !== null,
  );
  return Object.fromEntries(
    plain.map(([key, value]) => [key, anyText(value)]).filter(([, value]) => !isEncrypted(value!)),
  );
}

/** Whether SOPS has encrypted a text. */
export const isEncrypted = (text: string): boolean => text.includes("ENC[AES256_GCM");

/**
 * Fills variables in, as talhelper does (pkg/substitute/envsubst.go, by a8m/envsubst, parse/lex.go and node.go): `$A`,
 * `${A}`, `${A:-b}` and the like; `$$` is a dollar. A variable without a value stays in the text, so that `unfilledIn`
 * finds it.
 */
export const substitute = (text: string, variables: Record<string, string | undefined>): string =>
  text.replaceAll(
    /\$(?:\$|\{(?<name>\w+)(?:(?<operator>:?[-=+])(?<other>[^}\n]{0,1000}))?\}|(?<bare>[A-Za-z]\w*|_\w+))/g,
    (match: string, ...groups: unknown[]) => {
      const {
        name,
        operator,
        other: fallbackText = "",
        bare,
      } = groups.at(-1) as Record<string, string | undefined>;
      if (match === "$$") return "$";
      const value = variables[name ?? bare ?? ""];
      const fallback = fallbackText.startsWith("$")
        ? (variables[fallbackText.slice(1)] ?? match)
        : fallbackText;
      if (operator?.endsWith("+")) return value === undefined ? "" : fallback;
      if (value === undefined || (value === "" && operator?.startsWith(":")))
        return operator ? fallback : match;
      return value;
    },
  );
