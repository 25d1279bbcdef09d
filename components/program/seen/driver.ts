import { loadedDriver, parseModules } from "../../clients/talos/driver";
import type { Machine } from "../../clients/talos/talos-machine";
import type { UpgradeTask } from "../task";

/** Problems of the driver, one text each; empty if modules, driver and extension services agree with the stack. */
export async function driverProblems(
  machine: Machine,
  task: Pick<UpgradeTask, "modules" | "driverVersion" | "extensionServices">,
): Promise<string[]> {
  const problems: string[] = [];
  if (task.modules.length > 0) {
    const loaded = parseModules((await machine.read("/proc/modules")) ?? "");
    const missing = task.modules.filter((name) => !loaded.has(name.replaceAll("-", "_")));
    if (missing.length > 0) problems.push(`kernel modules not loaded: ${missing.join(", ")}`);
  }
  if (task.driverVersion !== undefined) {
    const driver = await loadedDriver(machine);
    if (driver === undefined) problems.push("no NVIDIA driver is loaded");
    else if (!isDriver(driver, task.driverVersion))
      problems.push(`NVIDIA driver ${driver} is loaded, not ${task.driverVersion}`);
  }
  if (task.extensionServices.length > 0) {
    const services = await machine.services();
    for (const { name, state } of task.extensionServices)
      if (services[name] !== state)
        problems.push(`service ${name} is ${services[name] ?? "missing"}, not ${state}`);
  }
  return problems;
}

/** Whether a driver has the wanted version, or belongs to the wanted branch if only the branch is known. */
const isDriver = (driver: string, planned: string): boolean =>
  driver === planned || (/^\d+$/.test(planned) && driver.startsWith(`${planned}.`));
