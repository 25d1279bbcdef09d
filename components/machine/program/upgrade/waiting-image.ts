import type { Machine } from "../../../clients/talos/talos-machine";
import type { UpgradeApi } from "../../../clients/machine";
import { waitingImageOf } from "../../../clients/talos/console";
import { capabilitiesOf } from "../../../recipe/facts/talos-release";

/** By what a machine is upgraded that runs a release. */
export const apiOf = (running: string): UpgradeApi => capabilitiesOf(running).upgradeApi;

/**
 * Image that is installed and waits for the machine's next boot, where Talos says so. Nobody may install over it: an installation keeps the
 * image of the next boot and removes the other one, which is then the one that runs (seen on Talos v1.13.0 with systemd-boot; talos
 * v1.13.0, bootloader/sdboot/sdboot.go, Upgrade, and bootloader/grub/boot_label.go, flip). If neither boots, there is no way back.
 */
export async function waitingImage(machine: Machine, running: string): Promise<string | undefined> {
  return apiOf(running) === "legacy" ? undefined : waitingImageOf(await machine.console());
}

/** Whether two references name one image of the Image Factory, whatever registry mirrors it. */
export function isSameImage(a: string | undefined, b: string): boolean {
  const last = (reference: string): string => reference.split("/").slice(-2).join("/");
  return a !== undefined && last(a) === last(b);
}
