import type { Transform } from "../../transform";

/** The release's namespace gets no Pod Security labels. */
export const privilegedNamespace: Transform = ({ kubernetes }) => {
  if (kubernetes.namespaceLabels !== undefined) kubernetes.namespaceLabels = {};
};
