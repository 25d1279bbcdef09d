/** Entries that a memory of a pure function keeps. */
const limit = 10_000;

/** Puts a result into the memory of a pure function, which forgets everything when it is full. */
export function remember<Key, Value>(memory: Map<Key, Value>, key: Key, value: Value): void {
  if (memory.size >= limit) memory.clear();
  memory.set(key, value);
}
