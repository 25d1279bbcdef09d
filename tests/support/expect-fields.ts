/**
 * Fails unless a value has the expected fields, at any depth. An expected null is a missing field. Lists and `{}`
 * are compared whole.
 */
export function expectFields(actual: unknown, expected: object): void {
  for (const [key, value] of Object.entries(expected)) {
    const field = (actual as Record<string, unknown>)[key];
    if (value === null) expect({ [key]: field }).toEqual({ [key]: undefined });
    else if (
      Array.isArray(value) ||
      typeof value !== "object" ||
      Object.keys(value as object).length === 0
    )
      expect({ [key]: field }).toEqual({ [key]: value });
    else expectFields(field, value as object);
  }
}
