import { isMap, isNode, isScalar } from "yaml";
import { talosDocuments } from "../../components/recipe/rules/yaml";

/** Fields of the part that SOPS adds: keys for decryption, and the file's digest. */
const written = [
  "mac",
  "lastmodified",
  "version",
  "age",
  "pgp",
  "kms",
  "gcp_kms",
  "azure_kv",
  "hc_vault",
];

/**
 * A text without the part that SOPS adds at the end of each document and removes at decryption (getsops/sops,
 * stores/stores.go, SopsMetadataKey and Metadata). The lines keep their numbers.
 */
export function withoutSops(text: string): string {
  if (!/\bsops\b/.test(text)) return text;
  let result = text;
  for (const { contents } of talosDocuments(text)) {
    if (!isMap(contents)) continue;
    for (const { key, value } of contents.items) {
      const isSops =
        isScalar(key) &&
        key.value === "sops" &&
        isMap(value) &&
        written.some((field) => value.has(field));
      if (!isSops || !isNode(key) || !key.range || !value.range) continue;
      const [start, end] = [key.range[0], value.range[1]];
      result =
        result.slice(0, start) +
        result.slice(start, end).replaceAll(/[^\r\n]/g, " ") +
        result.slice(end);
    }
  }
  return result;
}
