import type { Observations } from "../observations";
import { cardTexts } from "./cards";
import { exposureFixes } from "./exposure";
import {
  type Cause,
  type CauseId,
  causeIds,
  type Fix,
  type FixId,
  fixIds,
  type FixSigns,
  words,
} from "./known";
import { machineFixes } from "./machine";
import { schedulingFixes } from "./scheduling";
import { workloadFixes } from "./workloads";

export { type Cause, type CauseId, causeIds, type Fix, type FixId, fixIds } from "./known";

const signs: Record<FixId, FixSigns> = {
  ...machineFixes,
  ...schedulingFixes,
  ...exposureFixes,
  ...workloadFixes,
};

const fixOf = (id: FixId): Fix => ({ id, ...words.fixes[id], ...signs[id] });

/** The fixes, each with what happens without it, in the order of the report. */
export const fixes: Fix[] = fixIds.map(fixOf);

/** The same from the machine up. */
export const bottomUp: Fix[] = (Object.keys(signs) as FixId[]).map(fixOf);

/** What each known cause prints, in every release's form; a test has the texts of real programs. */
const texts: Record<CauseId, RegExp> = {
  ...cardTexts,
  fabricSlow: /below the floor of [\d.]+ GB\/s/,
  fabricApart: /fabric: not all of \d+ machines came|Bootstrap : no socket interface found/,
  groupWebhooks: /failed calling webhook "[mv](leaderworkerset|pod)\.kb\.io"/,
  runtimeHandler: /no runtime for "nvidia" is configured/,
  driverLibraries:
    /ERROR_LIBRARY_NOT_FOUND|only supported on NVML-based systems|could not load NVML library/i,
  driverRoot:
    /open \/driver-root\/\S*: no such file or directory|failed to stat CDI host device "\/usr\/local\//,
  toolkitPrograms: /fork\/exec \S*nvidia-(ctk|cdi-hook)\S*: no such file or directory/,
  mpsServer:
    /MPS client failed to connect to the MPS control daemon|cudaErrorMpsConnectionFailed|CUDA_ERROR_MPS_CONNECTION_FAILED/,
  sharedRequest: /maximum request size for shared resources is 1; found \d+/,
  migMonitors: /cannot set MIG_MONITOR_DEVICES in non privileged container/,
  releasePending: /another operation \(install\/upgrade\/rollback\) is in progress/,
};

const pendingReleases = ({ releases = [] }: Observations): string[] =>
  releases
    .filter(({ name, status }) => /^pending-/.test(status) && /gpu-operator|nvidia/.test(name))
    .map(({ namespace, name, status }) => `Helm release ${namespace}/${name} is ${status}`);

/** Known causes beyond the fixes. */
export const causes = Object.fromEntries(
  causeIds.map((id): [CauseId, Cause] => [
    id,
    {
      ...words.causes[id],
      texts: texts[id],
      ...(id === "releasePending" ? { signs: pendingReleases } : {}),
    },
  ]),
) as Record<CauseId, Cause>;
