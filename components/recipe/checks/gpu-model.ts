import { isTooOld, knownModels } from "../facts/card";
import type { Check, Complaint, Found } from "./check";
import { GpuArchitecture } from "../spec/index";
import { closestOnes } from "../rules/suggest";

/** A card is one that is known, or that the stack describes. */
export const gpuModel: Check = {
  id: "gpu-model",
  source:
    "recipe/facts/data/cards.ts and pci-cards.json (the PCI ID project's list of NVIDIA's cards); NVIDIA, legacy GPUs (470); NVIDIA vGPU user guide; siderolabs/extensions, nvidia-gpu",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      machine.uses.flatMap((use, index): Found => {
        const said = machine.spec.gpus?.[index]?.architecture;
        const other = use.card === undefined || use.card.described ? unlike(use.model) : undefined;
        if (other !== undefined) return { field: `${use.field}.model`, ...other };
        if (!use.card) return [unknown(use.field, use.model)];
        if (said === undefined || said === use.card.architecture) return [];
        return {
          field: `${use.field}.architecture`,
          problem: `is ${said}, but the ${use.card.model} is of ${use.card.architecture}`,
          why: "the stack chooses kernel modules and driver by the architecture; those for another architecture do not find the card",
          remedy: "leave architecture out: it describes cards that are in no table",
        };
      }),
    ),
};

/** What is no card of this package's, whatever a stack says of it: by its name. */
function unlike(model: string): Omit<Complaint, "field"> | undefined {
  const name = model.replace(/^NVIDIA /i, "").trim();
  if (isTooOld(model))
    return {
      problem: `"${model}" is too old`,
      why: "the last driver for Kepler is of branch 470, and every release of Talos that is known here brings a newer one, which does not find the card",
      remedy: "leave this machine's gpus out, or put a card of Maxwell or newer into it",
    };
  // A profile's name ends in its memory and its kind (NVIDIA vGPU user guide, virtual GPU types).
  if (/-\d+[QABC](?:ME|NG)?$/i.test(name) || /^GRID /i.test(name))
    return {
      problem: `"${model}" is a virtual GPU, not a card`,
      why: "its guest needs NVIDIA's licensed vGPU driver, which is in no extension of Talos: the modules that there are find no card",
      remedy: "pass the whole card through to the machine as a PCI device, and write the card's model here",
    };
  if (/\b(jetson|tegra|xavier|orin|thor)\b/i.test(name))
    return {
      problem: `"${model}" is a GPU inside a system on a chip`,
      why: "Talos' NVIDIA extensions hold the driver of PCI cards, which does not know the GPU of a Jetson",
      remedy: "leave this machine's gpus out: this package does not provision it",
    };
  return undefined;
}

function unknown(field: string, model: string): Complaint {
  const name = model.replace(/^NVIDIA |\b(GeForce|Quadro|Tesla) /gi, "").trim();
  if (/^PG\d{3}(-\d{3})?$/i.test(name))
    return {
      field: `${field}.model`,
      problem: `"${model}" is the code of a board, not of a card that is known here`,
      why: "kernel modules, driver and resources follow from the card's architecture",
      remedy:
        "write the PCI ID as `lspci -nn` prints it, e.g. `10de:1df0`, or the name of the card that is on the board",
    };
  const numbered = knownModels().filter((known) => /^\d{3,4}$/.test(name) && known.split(" ")[1] === name);
  const near = numbered.length > 0 ? numbered.slice(0, 3) : closestOnes(name, knownModels());
  const meant = near.length === 0 ? "" : `did you mean ${near.map((name) => `"${name}"`).join(" or ")}? `;
  return {
    field: `${field}.model`,
    problem: `"${model}" is not a card that is known here`,
    why: "kernel modules, driver and resources follow from the card's architecture",
    remedy: `${meant}write the model as \`nvidia-smi -L\` prints it, or its PCI ID as \`lspci -nn\` does (10de:…), or describe a card that is newer than the tables by architecture (${Object.values(GpuArchitecture).join(", ")}) and memory`,
  };
}
