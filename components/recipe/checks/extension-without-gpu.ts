import type { Check } from "./check";
import { soundsLikeNvidia } from "../facts/extension";

/** NVIDIA's extensions are on machines with a GPU only. */
export const extensionWithoutGpu: Check = {
  id: "extension-without-gpu",
  source: "talos#14373: ext-nvidia-persistenced waits for a driver that never comes, until the boot times out",
  find: ({ machines }) =>
    machines
      .filter((machine) => machine.gpuCount === 0)
      .flatMap((machine) =>
        (machine.spec.extensions ?? []).flatMap((name, index) =>
          soundsLikeNvidia(name)
            ? {
                field: `${machine.field}.extensions[${index}]`,
                problem: `${name} on a machine without a GPU`,
                why: "its services wait for a card for ever: the machine reboots every 70 minutes and rolls back",
                remedy: "leave it out, or name the machine's cards under gpus",
              }
            : [],
        ),
      ),
};
