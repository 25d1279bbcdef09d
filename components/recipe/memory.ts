/** Entries that a memory keeps. */
const limit = 10_000;

/** A pure function with a memory. */
export type Remembering<Args extends unknown[], Value> = ((...args: Args) => Value) & {
  /** Notes what it gives for a key. */
  note: (key: string, value: Value) => void;
};

/**
 * A pure function that remembers what it gave, since machines of a kind are asked about alike. It forgets everything when its memory
 * is full. Nobody changes what it gives.
 *
 * @param keyOf what tells arguments apart. Default: their JSON.
 */
export function remembering<Args extends unknown[], Value>(
  act: (...args: Args) => Value,
  keyOf: (...args: Args) => string = (...args) => JSON.stringify(args),
): Remembering<Args, Value> {
  const memory = new Map<string, Value>();
  const note = (key: string, value: Value): void => {
    if (memory.size >= limit) memory.clear();
    memory.set(key, value);
  };
  const recall = (...args: Args): Value => {
    const key = keyOf(...args);
    if (!memory.has(key)) note(key, act(...args));
    return memory.get(key)!;
  };
  return Object.assign(recall, { note });
}
