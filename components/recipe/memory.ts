/** Greatest number of results that a memory keeps. */
const limit = 10_000;

/**
 * Makes a pure function remember its results, because equal machines lead to equal arguments. A full memory is emptied.
 * Callers must not change a result.
 *
 * @param keyOf key of some arguments. Default: their JSON.
 */
export function remembering<Args extends unknown[], Value>(
  compute: (...args: Args) => Value,
  keyOf: (...args: Args) => string = (...args) => JSON.stringify(args),
): (...args: Args) => Value {
  const memory = new Map<string, Value>();
  return (...args) => {
    const key = keyOf(...args);
    if (memory.size >= limit) memory.clear();
    if (!memory.has(key)) memory.set(key, compute(...args));
    return memory.get(key)!;
  };
}

/** Greatest number of characters of the texts in a memory: enough for some of the largest files. */
const characters = 4 * 1024 * 1024;

/**
 * `remembering` for a function of one text. The number of characters limits the memory, since a text may be a whole
 * file.
 */
export function rememberingTexts<Value>(compute: (text: string) => Value): (text: string) => Value {
  const memory = new Map<string, Value>();
  let keptCharacters = 0;
  return (text) => {
    if (text.length > characters) return compute(text);
    if (memory.has(text)) return memory.get(text)!;
    if (keptCharacters + text.length > characters) {
      memory.clear();
      keptCharacters = 0;
    }
    const value = compute(text);
    memory.set(text, value);
    keptCharacters += text.length;
    return value;
  };
}
