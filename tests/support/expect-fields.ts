/** Fails unless a value has the wanted fields, at any depth. Null is a missing field. Lists and `{}` are compared whole. */
export function expectFields(it: unknown, wanted: object): void {
  for (const [key, value] of Object.entries(wanted)) {
    const field = (it as Record<string, unknown>)[key];
    if (value === null) expect([key, field]).toEqual([key, undefined]);
    else if (
      Array.isArray(value) ||
      typeof value !== "object" ||
      Object.keys(value as object).length === 0
    )
      expect([key, field]).toEqual([key, value]);
    else expectFields(field, value as object);
  }
}
