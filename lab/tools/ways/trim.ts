import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { goEnvironment } from "./go";

/** Set to `1` where disk is dear and Go is not used for anything else, as on a CI runner. */
const TRIM_VARIABLE = "TALOS_GPU_TRIM_GO_CACHE";

/**
 * Empties Go's build and module caches, some 8 GB after a cold build, once the binaries stand. They are the user's: this
 * does nothing unless `TALOS_GPU_TRIM_GO_CACHE=1` is set.
 *
 * @returns whether it did.
 */
export async function trimGoCaches(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  if (env[TRIM_VARIABLE] !== "1") return false;
  await promisify(execFile)("go", ["clean", "-cache", "-modcache"], { env: goEnvironment(env) });
  return true;
}
