import type { Transform } from "../../transform";

/** The chart's own MIG manager runs, and is told that the driver is the host's. */
export const migManager: Transform = ({ kubernetes: { markers, release } }) => {
  release.values["migManager"] = { enabled: true };
  for (const marker of markers) marker.content = marker.content.replace("IS_HOST_DRIVER=false", "IS_HOST_DRIVER=true");
};
