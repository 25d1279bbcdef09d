/** Entries that a memory keeps. */
const limit = 10_000;

/**
 * A pure function that remembers what it gave, since machines of a kind are asked about alike. It forgets everything when its memory
 * is full. Nobody changes what it gives.
 *
 * @param keyOf what tells arguments apart. Default: their JSON.
 */
export function remembering<Args extends unknown[], Value>(
  act: (...args: Args) => Value,
  keyOf: (...args: Args) => string = (...args) => JSON.stringify(args),
): (...args: Args) => Value {
  const memory = new Map<string, Value>();
  return (...args) => {
    const key = keyOf(...args);
    if (memory.size >= limit) memory.clear();
    if (!memory.has(key)) memory.set(key, act(...args));
    return memory.get(key)!;
  };
}
