import { withoutLabel } from "../../transform";

/** The operator's validator runs beside the marker files, which it deletes. */
export const operatorValidatorLabel = withoutLabel("nvidia.com/gpu.deploy.operator-validator");
