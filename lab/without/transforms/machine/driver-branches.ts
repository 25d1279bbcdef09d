import { modulesExtension, nvidiaExtension, toolkitExtension } from "../../../../components/recipe/facts/extension";
import { findRelease } from "../../../../components/recipe";
import { changeImage } from "../../image";
import { eachMachine } from "../../transform";

/** Modules of lts, libraries of production. */
export const driverBranches = eachMachine((machine) => {
  const mixed = machine.extensions.map((name) => {
    const extension = nvidiaExtension(name);
    if (extension?.kind === "modules") return modulesExtension(extension.flavour ?? "open", "lts");
    return extension?.kind === "toolkit" ? toolkitExtension("production") : name;
  });
  changeImage(machine, mixed.sort());
  const driver = findRelease(machine.talosVersion)?.drivers.lts;
  if (machine.driverVersion !== undefined && driver !== undefined) machine.driverVersion = driver;
});
