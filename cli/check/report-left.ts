/**
 * Reports the files that are not checked, because all files together exceed a limit. The report names at most ten
 * files.
 */
export function reportLeftOut(
  uncheckedFiles: readonly string[],
  bound: string,
  reportFile: (file: string, problem: string) => void,
): void {
  const [first, ...otherFiles] = uncheckedFiles;
  if (first === undefined) return;
  const listedFiles = otherFiles.slice(0, 9);
  const furtherCount =
    otherFiles.length > listedFiles.length
      ? [`${otherFiles.length - listedFiles.length} more`]
      : [];
  const otherFilesText =
    otherFiles.length === 0
      ? ""
      : ` (the same applies to ${[...listedFiles, ...furtherCount].join(", ")})`;
  reportFile(first, `is not checked: ${bound}${otherFilesText}; give fewer files at once`);
}
