/**
 * Fails unless the text of each key contains or matches the wanted part. A key with null must have no text. Lists
 * and empty mappings must be equal.
 */
export function expectSaid(it: unknown, wanted: object): void {
  for (const [key, value] of Object.entries(wanted)) {
    const said = (it as Record<string, unknown>)[key];
    if (value === null) expect([key, said]).toEqual([key, undefined]);
    else if (
      Array.isArray(value) ||
      typeof value !== "object" ||
      Object.keys(value as object).length === 0
    )
      expect([key, said]).toEqual([key, value]);
    else expectSaid(said, value as object);
  }
}
