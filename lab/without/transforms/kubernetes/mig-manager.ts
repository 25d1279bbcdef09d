import type { Transform } from "../../transform";

/** The chart's own MIG manager runs, as the operator starts it. */
export const migManager: Transform = ({ kubernetes: { release } }) => {
  release.values["migManager"] = { enabled: true };
};
