/** Greatest number of results that a memory keeps. */
const limit = 10_000;

/**
 * Makes a pure function remember its results, because equal machines lead to equal arguments. A full memory is emptied.
 * Callers must not change a result.
 *
 * @param keyOf key of some arguments. Default: their JSON.
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

/** Greatest number of characters of the texts in a memory: enough for some of the largest files. */
const characters = 4 * 1024 * 1024;

/**
 * `remembering` for a function of one text. The number of characters limits the memory, since a text may be a whole
 * file.
 */
export function rememberingTexts<Value>(act: (text: string) => Value): (text: string) => Value {
  const memory = new Map<string, Value>();
  let kept = 0;
  return (text) => {
    if (text.length > characters) return act(text);
    if (memory.has(text)) return memory.get(text)!;
    if (kept + text.length > characters) {
      memory.clear();
      kept = 0;
    }
    const value = act(text);
    memory.set(text, value);
    kept += text.length;
    return value;
  };
}
