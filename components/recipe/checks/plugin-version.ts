import * as semver from "semver";
import type { Check } from "./check";

export const pluginVersion: Check = {
  id: "plugin-version",
  source: "k8s-device-plugin#1692, #1837",
  find: ({ spec }) => {
    const version = semver.parse(spec.devicePlugin?.version ?? "");
    if (!version || !semver.satisfies(version, ">=0.19.0 <0.19.3")) return [];
    return [
      {
        field: "devicePlugin.version",
        problem: `${version.version} mounts /dev/infiniband and other devices by default`,
        why: "on machines without them no GPU container can be created",
        remedy: "take 0.19.3 or newer, or 0.18.2",
      },
    ];
  },
};
