import { isMap, isNode, isScalar } from "yaml";
import { talosDocuments } from "../../components/recipe/rules/yaml";

/** Fields that SOPS writes there: of who can decrypt, and of the file's digest. */
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
 * A text without what SOPS adds at the end of each document, and takes away when it decrypts the file (getsops/sops, stores/stores.go,
 * SopsMetadataKey and Metadata). Each line stays where it is.
 */
export function withoutSops(text: string): string {
  if (!/\bsops\b/.test(text)) return text;
  let rest = text;
  for (const { contents } of talosDocuments(text)) {
    if (!isMap(contents)) continue;
    for (const { key, value } of contents.items) {
      const isSops =
        isScalar(key) &&
        key.value === "sops" &&
        isMap(value) &&
        written.some((field) => value.has(field));
      if (!isSops || !isNode(key) || !key.range || !value.range) continue;
      const [from, to] = [key.range[0], value.range[1]];
      rest =
        rest.slice(0, from) + rest.slice(from, to).replaceAll(/[^\r\n]/g, " ") + rest.slice(to);
    }
  }
  return rest;
}
