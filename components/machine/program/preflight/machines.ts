import { waitFor, LimitReached, type Clock } from "../clock";
import { CallError, type Failure, lastLine } from "../failure";
import { foreignCredentials } from "../certificates";
import type { Machine } from "../machine";
import type { Report } from "../progress";
import { checkImage } from "../upgrade/precheck";
import type { AskedMachine, PreflightResult } from "./task";

/** Milliseconds for a machine to answer: its own update waits for one that is down, so it is not waited for here. */
const ANSWER = 15_000;

/** Machines that are asked at a time. */
const AT_A_TIME = 8;

/** Schematics that are remembered of a machine: of more updates than this one, nobody knows what it runs. */
const REMEMBERED = 10;

/** What the stack has brought the machines of a task, now that it brings this. */
export function remembered(machines: readonly AskedMachine[], before: PreflightResult["machines"]) {
  return Object.fromEntries(
    machines.map(({ machine, schematicId, wanted }) => {
      const earlier = (before[machine]?.brought ?? []).filter((id) => id !== schematicId);
      return [machine, { wanted, brought: [schematicId, ...earlier].slice(0, REMEMBERED) }];
    }),
  );
}

/**
 * What machines would lose with their next image. Of those that the stack wants as before nothing is asked, and what one
 * runs that the stack brought itself may go: taken out of the stack, it was taken out on purpose.
 */
export async function askMachines(
  machines: readonly AskedMachine[],
  before: PreflightResult["machines"],
  around: { machineAt: (address: string) => Machine; talosconfig: string | undefined; clock: Clock; report: Report },
): Promise<Failure["findings"]> {
  const findings: Failure["findings"] = [];
  const waiting = machines.filter(({ machine, wanted }) => before[machine]?.wanted !== wanted);
  const refused = new Set<string>();
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { machine, address, schematicId, gpu } = next;
      const ask = around.machineAt(address);
      try {
        const found = await waitFor(around.clock, {
          what: `an answer of machine ${machine}`,
          limit: ANSWER,
          poll: 1_000,
          look: async () => {
            const running = await ask.schematic();
            const ours = [schematicId, ...(before[machine]?.brought ?? [])];
            const brought = running !== undefined && ours.includes(running) ? running : undefined;
            return { done: await checkImage({ ...next, modules: gpu ? ["nvidia"] : [] }, ask, running, brought) };
          },
        });
        findings.push(...found);
      } catch (error) {
        if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
        const foreign = error instanceof CallError ? foreignCredentials(error.message, around.talosconfig) : undefined;
        if (foreign === undefined)
          around.report(`${machine}: not asked what it would lose (${lastLine(error)}); its own update looks again`);
        else if (!refused.has(foreign.problem))
          findings.push({ ...foreign, field: `machines.${machine}: ${foreign.field}` });
        if (foreign !== undefined) refused.add(foreign.problem);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return findings;
}
