import type { ClusterSpec } from "../../../components/recipe";
import { validStack } from "../stacks";

/** A stack with something that has no effect, and what its notes say of it. */
interface HarmlessStack {
  name: string;
  stack: ClusterSpec;
  /** Fields that are said to have no effect, each with a part of what is said. */
  says: Record<string, string>;
}

const velaryon = validStack("velaryon");
const withoutRelease = ({
  gpuOperator: _operator,
  devicePlugin: _plugin,
  ...rest
}: ClusterSpec): ClusterSpec => rest;

/** Stacks that may go on, as what they have wrong only has no effect. */
export const harmlessStacks: HarmlessStack[] = [
  {
    name: "parameters of NVIDIA's modules among the kernel arguments",
    stack: {
      ...velaryon,
      machines: {
        velaryon: {
          ...velaryon.machines["velaryon"]!,
          kernelArgs: ["nvidia_drm.modeset=1", "nvidia-drm.fbdev=1"],
        },
      },
    },
    says: {
      "machines.velaryon.kernelArgs[0]": "moduleParameters: `nvidia_drm: ['modeset=1']`",
      "machines.velaryon.kernelArgs[1]": "nvidia-drm.fbdev has no effect as a kernel argument",
    },
  },
  {
    name: "a parameter of NVIDIA's module among those of a patch",
    stack: {
      ...velaryon,
      patches: ["machine: { install: { extraKernelArgs: [nvidia_drm.modeset=1] } }"],
    },
    says: { "patches[0]": "nvidia_drm.modeset has no effect as a kernel argument" },
  },
  {
    name: "a value that the chart of a release outside does not have",
    stack: {
      ...withoutRelease(validStack("rtx5070ti")),
      external: {
        read: {
          kind: "gpuOperator",
          by: "Flux",
          version: "v26.3.3",
          values: {
            driver: { enabled: false },
            toolkit: { enabled: false },
            cdi: { enabled: false },
            operator: { defaultRuntime: "containerd" },
          },
          places: { "operator.defaultRuntime": "hr.yaml:13" },
        },
      },
    },
    says: { "external.values.operator.defaultRuntime": "no such value (hr.yaml:13)" },
  },
];
