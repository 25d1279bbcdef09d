import type * as pulumi from "@pulumi/pulumi";
import type { Credentials } from "../credentials/credentials";
import { guarded } from "../kubernetes/guard";
import { LookAgain } from "../kubernetes/look-again";
import type { Plan } from "../recipe/types";
import type { Fleet } from "./gpu-machines";

/** How everything that the stack makes in its cluster is made. */
export interface Within {
  /** Kubernetes provider of a cluster that is bootstrapped here, the owner's mark, and note taken for `again`. */
  opts: pulumi.CustomResourceOptions;
  /** Content of the kubeconfig that our programs look with; undefined where KUBECONFIG names a file of it. */
  kubeconfig: pulumi.Input<string> | undefined;
  /** Looks at the objects anew; undefined where the stack does not ask for it. */
  again: LookAgain | undefined;
}

/** What the cluster's part is made with, once the fleet's first machine is there. */
export function within(
  name: string,
  { spec }: Plan,
  credentials: Credentials,
  fleet: Fleet,
  opts: pulumi.CustomResourceOptions,
): Within {
  const kubeconfig = spec.bootstrap ? fleet.kubeconfig : credentials.kubeconfig;
  const again = spec.lookAgain === undefined ? undefined : new LookAgain(name, spec.lookAgain, kubeconfig);
  return {
    opts: {
      ...opts,
      ...(fleet.kubernetes === undefined ? {} : { provider: fleet.kubernetes }),
      transformations: [
        guarded(name, fleet.kubeconfig, (spec.gpuOperator ?? spec.devicePlugin)?.takeOver),
        ...(again ? [again.transformation] : []),
      ],
    },
    kubeconfig,
    again,
  };
}
