import type * as pulumi from "@pulumi/pulumi";
import { guarded } from "../kubernetes/guard";
import type { Plan } from "../recipe/types";
import type { Fleet } from "./gpu-machines";

/** Options of everything that the stack makes in its cluster: the provider of one that is bootstrapped here, and the owner's mark. */
export function clusterOptions(
  name: string,
  { spec }: Plan,
  { kubeconfig, provider }: Fleet,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResourceOptions {
  return {
    ...opts,
    ...(provider === undefined ? {} : { provider }),
    transformations: [guarded(name, kubeconfig, (spec.gpuOperator ?? spec.devicePlugin)?.takeOver)],
  };
}
