/** Fails unless something says what is wanted of it, and nothing where that is null; lists, and mappings of nothing, are compared whole. */
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
