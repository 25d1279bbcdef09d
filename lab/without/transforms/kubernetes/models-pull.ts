import { ModelPull } from "../../../../components/recipe";
import { workloadsOfKind } from "../../../../components/recipe/stack/workloads";
import type { Transform } from "../../transform";

/** A postStart hook pulls the models, as in many charts. */
export const modelsPull: Transform = ({ spec }) => {
  for (const { said } of workloadsOfKind(spec, "ollama")) said.pullBy = ModelPull.postStart;
};
