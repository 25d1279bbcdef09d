/** Paths of the values in which two trees differ, such as `machines.0.patches`. */
export function differingPaths(
  first: unknown,
  second: unknown,
  path: readonly string[] = [],
): string[] {
  if (typeof first !== "object" || typeof second !== "object" || first === null || second === null)
    return Object.is(first, second) ? [] : [path.join(".")];
  const keys = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...keys].flatMap((key) =>
    differingPaths(
      (first as Record<string, unknown>)[key],
      (second as Record<string, unknown>)[key],
      [...path, key],
    ),
  );
}
