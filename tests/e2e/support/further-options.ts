/**
 * Further options of every lab of these tests, from the environment. For example, `LAB_OPTIONS="--pulumi
 * installed"` runs the tests with the installed provider plugins instead of the lab's own. Default: none.
 */
export const furtherOptions: readonly string[] = (process.env["LAB_OPTIONS"] ?? "")
  .split(" ")
  .filter(Boolean);
