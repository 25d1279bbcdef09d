import { knownModels } from "../facts/card";
import type { Check, Complaint } from "./check";
import { GpuArchitecture } from "../stack/spec/index";
import { closestOnes } from "../stack/suggest";

/** A card is one that is known, or that the stack describes. */
export const gpuModel: Check = {
  id: "gpu-model",
  source: "recipe/facts/data/cards.ts and pci-cards.json (the PCI ID project's list of NVIDIA's cards)",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      machine.uses.flatMap((use, index): Complaint[] => {
        const said = machine.spec.gpus?.[index]?.architecture;
        if (!use.card) return [unknown(use.field, use.model)];
        if (said === undefined || said === use.card.architecture) return [];
        return [
          {
            field: `${use.field}.architecture`,
            problem: `is ${said}, but the ${use.card.model} is of ${use.card.architecture}`,
            why: "the stack chooses kernel modules and driver by the architecture; those for another architecture do not find the card",
            remedy: "leave architecture out: it describes cards that are in no table",
          },
        ];
      }),
    ),
};

function unknown(field: string, model: string): Complaint {
  const near = closestOnes(model.replace(/^NVIDIA |\b(GeForce|Quadro|Tesla) /gi, ""), knownModels());
  const meant = near.length === 0 ? "" : `did you mean ${near.map((name) => `"${name}"`).join(" or ")}? `;
  return {
    field: `${field}.model`,
    problem: `"${model}" is not a card that is known here`,
    why: "kernel modules, driver and resources follow from the card's architecture",
    remedy: `${meant}write the model as \`nvidia-smi -L\` prints it, or describe a card that is newer than the tables by architecture (${Object.values(GpuArchitecture).join(", ")}) and memory`,
  };
}
