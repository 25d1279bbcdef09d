import type { Transform } from "../../transform";

/** The RuntimeClass is left to an operator that is not there. */
export const runtimeClass: Transform = ({ kubernetes }) => {
  kubernetes.runtimeClass.owner = "operator";
};
