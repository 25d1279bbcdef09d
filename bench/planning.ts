import { GpuCluster } from "../components/index";
import { clusterOf, credentials } from "./cluster";
import { type Spread, spreadOf } from "./statistics";

/** CPU seconds of everything before the first resource: the stack is read, every check looks at it, and it is planned. */
export function measurePlanning(machines: number, rounds: number): Spread {
  const args = { ...clusterOf(machines), ...credentials };
  const seconds = Array.from({ length: rounds + 1 }, () => {
    const begin = process.cpuUsage();
    const plan = GpuCluster.plan(args);
    const { user, system } = process.cpuUsage(begin);
    if (plan.machines.length !== machines) throw new Error(`planned ${plan.machines.length} of ${machines} machines`);
    return (user + system) / 1e6;
  });
  return spreadOf(seconds.slice(1)); // the first one compiles
}
