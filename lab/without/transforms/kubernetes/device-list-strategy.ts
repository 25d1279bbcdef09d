import type { Transform } from "../../transform";

/** A common slip: the plural, which the device plugin refuses. */
const plural = "envvars";

/** The device plugin is told a strategy that it does not know. */
export const deviceListStrategy: Transform = ({ kubernetes: { mode, release } }) => {
  if (mode === "devicePlugin") {
    release.values["deviceListStrategy"] = plural;
    return;
  }
  const { env = [] } = release.values["devicePlugin"] as { env?: { name: string; value: string }[] };
  for (const entry of env) if (entry.name === "DEVICE_LIST_STRATEGY") entry.value = plural;
};
