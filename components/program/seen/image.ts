import { ignoredArgsFindings } from "../../recipe/machine/boot-args";
import type { BootArgsContext } from "../../recipe/machine/grub/remedies";
import { losses, type NextImage, type RunningImage } from "../../recipe/machine/losses";
import type { FieldFinding } from "../../clients/failure";
import { unbootable, signatureLines } from "../../recipe/machine/secure-boot";
import type { Report } from "../progress";
import type { UpgradeTask } from "../task";

/**
 * Findings about the machine's next image: the machine could not start the image, would lose parts, or would ignore the
 * image's kernel arguments. Losses are checked only while the machine runs an image that this stack did not install. If
 * the stack installed the running image, the user has removed the missing parts from the stack on purpose. The content
 * of a user's own image is unknown, so it is not compared.
 *
 * @param image the running image.
 * @param running the running image's schematic; undefined if no Image Factory made the image.
 * @param ownSchematic the running schematic, if an update of this stack installed it; else undefined.
 * @param report receives what cannot be known about the image's signature. Default: nothing.
 */
export function checkImage(
  task: Pick<
    UpgradeTask,
    "machine" | "image" | "installerImage" | "ownImage" | "drop" | "driverFieldsFromCard"
  > &
    BootArgsContext & {
      gpu: boolean;
    },
  image: RunningImage,
  running: string | undefined,
  ownSchematic: string | undefined,
  report: Report = () => undefined,
): FieldFinding[] {
  const { installerImage, ownImage = false } = task;
  for (const line of signatureLines(image, installerImage, ownImage))
    report(`warning: ${task.machine}: ${line}`);
  if (ownImage) return unbootable(task.machine, image, installerImage, ownImage);
  const { extensions, kernelArgs, overlay } = task.image;
  const isForeignImage = running === undefined || running !== ownSchematic;
  const next: NextImage = {
    extensions,
    kernelArgs,
    ...(overlay === undefined ? {} : { overlay }),
    installer: installerImage,
    gpu: task.gpu,
    driverFieldsFromCard: task.driverFieldsFromCard,
  };
  return [
    ...(isForeignImage
      ? losses(task, image, next, task.drop)
      : unbootable(task.machine, image, installerImage)),
    ...ignoredArgsFindings(task, image, next),
  ];
}
