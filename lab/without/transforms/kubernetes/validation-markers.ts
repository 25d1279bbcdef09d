import { daemonLabel } from "../../../../components/recipe/machine/daemon-labels";
import { type Transform, withoutLabel } from "../../transform";

/** Nobody writes the operator's marker files, and its validator runs. */
export const validationMarkers: Transform = (plan) => {
  plan.kubernetes.markers = [];
  withoutLabel("nvidia.com/gpu.deploy.operator-validator")(plan);
  withoutLabel(daemonLabel.validationMarkers)(plan);
};
