import { withoutLabel } from "../../transform";

/** Nobody sets the label that the device plugin's chart asks for. */
export const gpuPresentLabel = withoutLabel("nvidia.com/gpu.present");
