import { allPatches, type Check } from "./check";
import { valueAt } from "../mapping";

/** No patch sets the installer image, which this package sets. */
export const installImage: Check = {
  id: "install-image",
  source: "talos, pkg/machinery/config/merge: a later scalar overwrites; machine.install.image is set by this package",
  find: (context) =>
    allPatches(context)
      .filter(({ patch }) => valueAt(patch.config, "machine", "install", "image") !== undefined)
      .map(({ patch }) => ({
        field: patch.field,
        problem: "sets machine.install.image",
        why: "this package sets this field, so yours would be lost; if yours were kept, a re-install would bring an image without the driver",
        remedy: "leave it out: the image follows from talosVersion, platform and extensions",
      })),
};
