/** Entries that a memory keeps. */
const limit = 10_000;

/**
 * A pure function that remembers what it gave, since machines of a kind are asked about alike. It forgets everything
 * when its memory is full. Callers do not change what it returns.
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

/** Characters of the texts that a memory of texts keeps: some of the largest files that are read. */
const characters = 4 * 1024 * 1024;

/**
 * Like `remembering`, for a function of one text. Its memory is limited by characters, since the text may be a whole
 * file.
 */
export function rememberingTexts<Value>(act: (text: string) => Value): (text: string) => Value {
  const memory = new Map<string, Value>();
  let kept = 0;
  return (text) => {
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
