import type { Check, Found } from "./check";
import { shown } from "../rules";
import { didYouMean } from "../rules/suggest";

/** Machines that go ahead are workers with a GPU. */
export const upgradeFirst: Check = {
  id: "upgrade-first",
  source: "components/recipe/machine/order.ts: control planes come first in any case, and a smoke test runs on a GPU",
  find: ({ spec, machines }) => {
    const first = spec.upgrade?.first ?? [];
    return first.flatMap((name, index): Found => {
      const complain = (problem: string, why: string, remedy: string): Found => ({
        field: `upgrade.first[${index}]`,
        problem: `${shown(name)} ${problem}`,
        why,
        remedy,
      });
      const machine = machines.find((one) => one.name === name);
      if (machine === undefined) {
        const workers = machines.filter(({ spec: { role }, gpuCount }) => role === "worker" && gpuCount > 0);
        return complain(
          "is not a machine of this stack",
          "nothing would go ahead of the others",
          `${didYouMean(
            name,
            workers.map((worker) => worker.name),
          )}name a worker with a GPU, by its node's name`,
        );
      }
      if (machine.spec.role === "controlplane")
        return complain(
          "is a control plane",
          "control planes go one at a time before all workers, whatever is named here",
          "name a worker with a GPU, or leave upgrade.first out",
        );
      if (machine.gpuCount === 0)
        return complain(
          "has no GPU",
          "the other workers wait for its smoke test, which runs on a GPU",
          "name a worker with a GPU",
        );
      if (first.indexOf(name) < index)
        return complain("is named twice", "it goes ahead once", "leave one of the two out");
      return [];
    });
  },
};
