import type { Lab } from "./bring-up";
import type { Say } from "./phases";
import type { FailureReport } from "./report";

export async function diagnoseLab(_lab: Lab, diagnostics: string[], _say: Say): Promise<FailureReport[]> {
  return [{ fix: "unknown", symptom: diagnostics.join("\n"), cause: "", remedy: "" }];
}
