/** Greatest number of results that a cache keeps. */
const limit = 10_000;

/**
 * Makes a pure function cache its results, because many machines of a stack lead to equal arguments. A full cache is
 * emptied. Callers must not change a result.
 *
 * @param keyOf function that makes the cache's key from the arguments. Default: their JSON.
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

/** Greatest number of characters in all texts of a cache: enough for four of the largest files. */
const characters = 4 * 1024 * 1024;

/**
 * Like `remembering`, for a function of one text. The number of characters limits the cache, because a text may be a
 * whole file.
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
