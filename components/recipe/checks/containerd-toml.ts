import type { Check } from "./check";
import { containerdPart, parseToml } from "../machine/containerd/containerd";
import { containerdKeys, containerdOf } from "../facts/containerd-schema";
import { containerdFlaws } from "../machine/containerd/flaws";
import { isMapping, valueAt } from "../mapping";

/** What a machine adds to containerd's configuration can be merged, and has keys that containerd knows. */
export const containerdToml: Check = {
  id: "containerd-toml",
  source:
    "talos, injectCRIConfigPatch: a part that cannot be merged fails the boot after a minute; containerd 2, CRI plugin names",
  find: ({ machines, plan, spec: { talosVersion } }) => {
    const containerd = containerdOf(talosVersion);
    return machines.flatMap((machine) => {
      const spec = machine.spec.containerd;
      if (!spec) return [];
      const { error, clashes } = containerdPart(spec, plan.era);
      const field = `${machine.field}.containerd.extra`;
      const table = parseToml(spec.extra ?? "").table ?? {};
      const grpc = valueAt(table, "plugins", "io.containerd.grpc.v1.cri");
      // The name stayed for the streaming server alone.
      const server = containerdKeys("cri.ServerConfig", containerd.minor);
      const oldPlugin = grpc !== undefined && (!isMapping(grpc) || Object.keys(grpc).some((key) => !server.has(key)));
      return [
        error !== undefined && {
          field,
          problem: `is not TOML: ${error}`,
          why: "Talos cannot merge it: CRI does not start and the machine does not finish its boot",
          remedy: "correct it",
        },
        ...clashes.map((key) => ({
          field,
          problem: `sets ${key} to something else than the options beside it`,
          why: "one of the two would be lost in silence",
          remedy: "say it once, by the option or in extra",
        })),
        oldPlugin && {
          field,
          problem: 'sets plugins."io.containerd.grpc.v1.cri", which is the name of containerd 1',
          why: "containerd 2 (Talos ≥ 1.8) ignores it",
          remedy:
            'write plugins."io.containerd.cri.v1.runtime" (runtimes, CDI) or plugins."io.containerd.cri.v1.images" (images)',
        },
        ...containerdFlaws(table, containerd).map((flaw) => ({ field, ...flaw })),
      ];
    });
  },
};
