import { allPatches, type Check } from "./check";
import { valueAt } from "../mapping";

/** No patch names extensions where Talos ≥ 1.10 ignores them. */
export const installExtensions: Check = {
  id: "install-extensions",
  source: "talos v1.10.0, hack/release.toml: machine.install.extensions no longer has an effect",
  find: (context) => {
    const { spec, release } = context;
    if (!release || release.version.minor < 10) return [];
    return allPatches(context)
      .filter(({ patch }) => valueAt(patch.config, "machine", "install", "extensions") !== undefined)
      .map(({ patch }) => ({
        field: patch.field,
        problem: `machine.install.extensions on Talos ${spec.talosVersion}`,
        why: "Talos ≥ 1.10 ignores it in silence: the machine would run without these extensions",
        remedy: "name them under machines.<name>.extensions; NVIDIA's follow from the cards",
      }));
  },
};
