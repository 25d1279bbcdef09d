/** Reports files that exceed a limit on all files together; of many files it names only some. */
export function reportLeft(
  left: readonly string[],
  bound: string,
  reportFile: (file: string, problem: string) => void,
): void {
  const [first, ...others] = left;
  if (first === undefined) return;
  const named = others.slice(0, 9);
  const more = others.length > named.length ? [`${others.length - named.length} more`] : [];
  const also =
    others.length === 0 ? "" : ` (the same applies to ${[...named, ...more].join(", ")})`;
  reportFile(first, `is not checked: ${bound}${also}; give fewer files at once`);
}
