import { allPatches, type Check } from "./check";
import { customizationPath, parseToml } from "../machine/containerd/containerd";

const hasVersion = (toml: string): boolean => parseToml(toml).table?.["version"] !== undefined;

/** No part of containerd's configuration sets the version, which Talos sets. */
export const containerdVersion: Check = {
  id: "containerd-version",
  source: "talos, internal/pkg/toml/merge.go: a scalar of a later part overwrites",
  find: (context) => {
    const complaint = (field: string) => ({
      field,
      problem: "sets `version` in a containerd part",
      why: "it overwrites the version of Talos' own configuration, and containerd then reads every key by other rules",
      remedy: "leave the line out: Talos ≥ 1.8 writes version 3, with keys under io.containerd.cri.v1.runtime",
    });
    return [
      ...context.machines
        .filter((machine) => hasVersion(machine.spec.containerd?.extra ?? ""))
        .map((machine) => complaint(`${machine.field}.containerd.extra`)),
      ...allPatches(context)
        .filter(({ patch }) => patch.files.some((file) => file.path === customizationPath && hasVersion(file.content)))
        .map(({ patch }) => complaint(patch.field)),
    ];
  },
};
