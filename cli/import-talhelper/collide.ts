import { isDeepStrictEqual } from "node:util";
import { talosDocuments } from "../../components/recipe/machine/talos-schema/yaml";

/** Whether some of the patches and some of the others give one field different values, so that their order counts. */
export function collide(patches: readonly string[], others: readonly string[]): boolean {
  const fields = new Map(patches.flatMap(fieldsOf));
  return others
    .flatMap(fieldsOf)
    .some(([path, value]) => fields.has(path) && !isDeepStrictEqual(fields.get(path), value));
}

/** Fields of a patch by their paths; a list is a field, since Talos replaces some and lengthens others. */
function fieldsOf(patch: string): [string, unknown][] {
  return talosDocuments(patch).flatMap((document) => {
    const content = (document.toJS() ?? {}) as Record<string, unknown>;
    return leavesOf(content, [content["kind"], content["name"]].filter(Boolean).join("/"));
  });
}

function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, `${path}\n${key}`));
}
