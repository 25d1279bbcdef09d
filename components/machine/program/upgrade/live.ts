import { CallError, lastLine } from "../../../clients/failure";
import { patiently, type Run, type Workbench } from "./run";

/** Has Talos take the staged configuration as it runs; false where Talos wants a boot for it. */
export function apply(run: Run): Promise<boolean> {
  return run.phases.run("apply", "the staged configuration, without a reboot if Talos can", () =>
    patiently(run, () => applyLive(run)),
  );
}

/**
 * Puts the staged configuration into effect without a reboot, where Talos can: it refuses what needs a boot, such as
 * `machine.files` (talos v1.13.9 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go, CanApplyImmediate).
 *
 * Not for a machine with NVIDIA's modules (`wayOf` says why).
 *
 * @returns whether it is in effect.
 */
export async function applyLive({ machine, report }: Workbench): Promise<boolean> {
  const { persistent } = await machine.configurations();
  if (persistent === undefined) return false;
  try {
    await machine.activate(persistent);
  } catch (error) {
    if (!(error instanceof CallError) || error.problem !== "refused") throw error;
    report(`apply: needs a reboot (${lastLine(error)})`);
    return false;
  }
  report("apply: in effect without a reboot");
  return true;
}
