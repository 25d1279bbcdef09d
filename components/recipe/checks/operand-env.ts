import { envOf } from "../kubernetes/values";
import type { Check, Found } from "./check";
import { valueAt } from "../mapping";

/** What a program of NVIDIA's takes of a variable. */
interface Variable {
  takes: readonly string[];
  /** In words, after "must be". */
  is: string;
}

const words = (...takes: string[]): Variable => ({ takes, is: `one of ${takes.join(", ")}` });

/** Go's strconv.ParseBool; an empty variable counts as not set (urfave/cli v2, BoolFlag.Apply). */
const yesOrNo: Variable = {
  takes: ["", "1", "t", "T", "true", "True", "TRUE", "0", "f", "F", "false", "False", "FALSE"],
  is: '"true" or "false"',
};

const migStrategy = words("none", "single", "mixed");

/** Variables of an operand's `env`, by its key in the operator's values. DEVICE_LIST_STRATEGY has a check of its own. */
const operands: Record<string, Record<string, Variable>> = {
  devicePlugin: {
    MIG_STRATEGY: migStrategy,
    DEVICE_ID_STRATEGY: words("uuid", "index"),
    DEVICE_DISCOVERY_STRATEGY: words("auto", "nvml", "tegra"),
    FAIL_ON_INIT_ERROR: yesOrNo,
    PASS_DEVICE_SPECS: yesOrNo,
    GDRCOPY_ENABLED: yesOrNo,
    GDS_ENABLED: yesOrNo,
    MOFED_ENABLED: yesOrNo,
    IMEX_REQUIRED: yesOrNo,
  },
  gfd: {
    MIG_STRATEGY: migStrategy,
    GFD_MIG_STRATEGY: migStrategy,
    DEVICE_DISCOVERY_STRATEGY: words("auto", "nvml", "tegra", "vfio"),
    FAIL_ON_INIT_ERROR: yesOrNo,
    GFD_FAIL_ON_INIT_ERROR: yesOrNo,
    GFD_ONESHOT: yesOrNo,
    GFD_NO_TIMESTAMP: yesOrNo,
  },
};

/** The operator sets an operand's `env` last, over what it made of its other values. */
export const operandEnv: Check = {
  id: "operand-env",
  source:
    "k8s-device-plugin v0.20.0, cmd/nvidia-device-plugin/main.go (flags, validateFlags), cmd/gpu-feature-discovery/main.go; gpu-operator v26.7.0, controllers/object_controls.go (TransformDevicePlugin)",
  find: ({ spec }) =>
    Object.entries(operands).flatMap(([operand, variables]): Found =>
      Object.entries(variables).flatMap(([name, { takes, is }]) => {
        const said = envOf(valueAt(spec.gpuOperator?.values, operand, "env"), name);
        if (said === undefined || takes.includes(said)) return [];
        return {
          field: `gpuOperator.values.${operand}.env`,
          problem: `${name} is "${said.slice(0, 60)}", and must be ${is}`,
          why: "the program ends with it at each start, and the node offers no GPU, or has no labels of its cards",
          remedy: "write that, or leave the variable out",
        };
      }),
    ),
};
