import { allPatches, type Check } from "./check";
import { schemaMinor } from "../facts/talos-schema";
import { parseTalosVersion } from "../facts/version";
import { patchFlaws } from "../machine/patch-flaws";

/** A patch has the fields and values that its Talos release takes. */
export const patchSchema: Check = {
  id: "patch-schema",
  source: "siderolabs/talos, pkg/machinery/config: the decoder's structures, schemas/config.schema.json and Validate",
  find: (context) =>
    allPatches(context)
      .filter(({ patch }) => patch.flaw === undefined)
      .flatMap(({ patch, machines }) => {
        // A patch of the cluster reaches machines that have a release of their own, too: each is judged by its own.
        const releases = new Map<string, string | undefined>([[context.spec.talosVersion, undefined]]);
        for (const { name, spec } of machines)
          if (spec.talosVersion !== undefined && !releases.has(spec.talosVersion))
            releases.set(spec.talosVersion, name);
        const told = new Set<string>();
        return [...releases].flatMap(([release, machine]) => {
          const version = parseTalosVersion(release);
          if (!version) return [];
          return patchFlaws(patch.documents, schemaMinor(version.minor))
            .map(({ path, problem, remedy }) => ({
              field: patch.field,
              problem: path === "" ? problem : `${path} ${problem}`,
              why:
                machine === undefined
                  ? "Talos refuses the whole configuration, or does not finish its boot"
                  : `Talos ${release} of ${machine} refuses the whole configuration, or does not finish its boot`,
              remedy,
            }))
            .filter(({ problem }) => !told.has(problem) && told.add(problem));
        });
      }),
};
