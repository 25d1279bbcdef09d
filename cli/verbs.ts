import { bugReport } from "./bug-report/verb";
import { check } from "./check/verb";
import { discover } from "./discover/verb";
import { doctor } from "./doctor/verb";
import { importFiles } from "./import/verb";
import { plan } from "./plan/verb";
import { reboot } from "./reboot/verb";
import type { Verb } from "./verb";

/** All verbs of `talos-gpu` by name, in the order of its help. */
export const verbs: Record<string, Verb> = {
  check,
  discover,
  plan,
  doctor,
  reboot,
  "bug-report": bugReport,
  import: importFiles,
  // Users of talhelper know this name.
  "import-talhelper": {
    ...importFiles,
    summary: "the same as import, under the name that users of talhelper know",
  },
};
