import { ModelPull } from "../../../../components/recipe";
import type { Transform } from "../../transform";

/** A postStart hook pulls the models, as in many charts. */
export const modelsPull: Transform = ({ spec }) => {
  if (spec.workloads?.ollama) spec.workloads.ollama.pullBy = ModelPull.postStart;
};
