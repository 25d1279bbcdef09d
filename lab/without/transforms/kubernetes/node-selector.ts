import type { Transform } from "../../transform";

/** A role that somebody once gave the nodes by hand, and that no node has any more. */
const stale = { "node-role.kubernetes.io/gpu": "true" };

/** What exposes the GPUs selects nodes by a label of a former set-up. */
export const nodeSelector: Transform = ({ kubernetes }) => {
  kubernetes.nodeSelector = stale;
  if (kubernetes.mode === "devicePlugin") kubernetes.release.values["nodeSelector"] = stale;
};
