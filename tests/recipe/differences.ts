/** Paths of the values in which two trees differ, such as `machines.0.patches`. */
export function differences(one: unknown, other: unknown, path: readonly string[] = []): string[] {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return Object.is(one, other) ? [] : [path.join(".")];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].flatMap((key) =>
    differences((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key], [
      ...path,
      key,
    ]),
  );
}
