import { allPatches, type Check } from "./check";
import { schemaMinor } from "../facts/talos-schema";
import { parseTalosVersion } from "../facts/version";
import { patchFlaws } from "../machine/patch-flaws";

export const patchSchema: Check = {
  id: "patch-schema",
  source: "siderolabs/talos, pkg/machinery/config: the decoder's structures, schemas/config.schema.json and Validate",
  find: (context) => {
    const version = parseTalosVersion(context.spec.talosVersion);
    if (!version) return [];
    const schema = schemaMinor(version.minor);
    return allPatches(context)
      .filter(({ patch }) => patch.flaw === undefined)
      .flatMap(({ patch }) =>
        patchFlaws(patch.documents, schema).map(({ path, problem, remedy }) => ({
          field: patch.field,
          problem: path === "" ? problem : `${path} ${problem}`,
          why: "Talos refuses the whole configuration, or does not finish its boot",
          remedy,
        })),
      );
  },
};
