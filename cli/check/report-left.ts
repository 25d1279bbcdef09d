/** Names files that are beyond a bound of all files together, some of them where they are many. */
export function reportLeft(
  left: readonly string[],
  bound: string,
  reportFile: (file: string, problem: string) => void,
): void {
  const [first, ...others] = left;
  if (first === undefined) return;
  const named = others.slice(0, 9);
  const more = others.length > named.length ? [`${others.length - named.length} more`] : [];
  const also = others.length === 0 ? "" : `, and ${[...named, ...more].join(", ")} are not either`;
  reportFile(first, `is not looked at${also}: ${bound}; give fewer files at once`);
}
