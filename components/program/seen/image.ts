import { losses, type NextImage, unheardArgs } from "../../recipe/machine/losses";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { UpgradeTask } from "../task";

/**
 * Parts that the machine would lose with the image of the stack, and its kernel arguments that would have no effect.
 * The former is asked only of a machine that the stack takes over: where it runs the image that an earlier update
 * brought, what is missing now was taken out of the stack on purpose. The content of an image of the user's own is
 * unknown.
 *
 * @param brought the schematic that runs, where an update of this stack brought it; else undefined.
 */
export async function checkImage(
  task: Pick<
    UpgradeTask,
    "machine" | "image" | "installerImage" | "ownImage" | "drop" | "unnamedDriver"
  > & {
    gpu: boolean;
  },
  machine: Machine,
  running: string | undefined,
  brought: string | undefined,
): Promise<FieldFinding[]> {
  if (task.ownImage) return [];
  const { extensions, kernelArgs, overlay } = task.image;
  const takenOver = running === undefined || running !== brought;
  if (!takenOver && kernelArgs.length === 0) return [];
  const next: NextImage = {
    extensions,
    kernelArgs,
    ...(overlay === undefined ? {} : { overlay }),
    installer: task.installerImage,
    gpu: task.gpu,
    unnamedDriver: task.unnamedDriver,
  };
  const image = await machine.image();
  return [
    ...(takenOver ? losses(task.machine, image, next, task.drop) : []),
    ...unheardArgs(task.machine, image, next),
  ];
}
