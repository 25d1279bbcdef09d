/**
 * Options that every lab of these tests gets besides its own, from the environment: `LAB_OPTIONS="--pulumi installed"` has the installed
 * provider plugins judge a test that otherwise runs with the lab's own. Default: none.
 */
export const furtherOptions: readonly string[] = (process.env["LAB_OPTIONS"] ?? "")
  .split(" ")
  .filter(Boolean);
