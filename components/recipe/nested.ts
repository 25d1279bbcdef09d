/** Things in whatever nesting: `false` and `undefined` are none. */
export type Nested<T> = T | false | undefined | readonly Nested<T>[];

/** The things, one after the other. */
export function flat<T extends object | string>(nested: Nested<T>): T[] {
  if (Array.isArray(nested)) return (nested as readonly Nested<T>[]).flatMap((one) => flat(one));
  return nested === undefined || nested === false ? [] : [nested as T];
}
