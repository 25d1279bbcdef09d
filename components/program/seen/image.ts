import { losses, type NextImage, unheardArgs } from "../../recipe/machine/losses";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import type { UpgradeTask } from "../task";

/**
 * Findings about parts that the machine would lose with the stack's image, and about kernel arguments that would have
 * no effect. Losses are checked only while the machine runs an image that this stack did not install: otherwise the
 * user has removed the missing parts from the stack on purpose. The content of a user's own image is unknown.
 *
 * @param brought the running schematic, if an update of this stack installed it; else undefined.
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
