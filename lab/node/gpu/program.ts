import * as pulumi from "@pulumi/pulumi";
import { GpuCluster } from "talos-gpu";
import { markersOf } from "../../../components/recipe/cluster/markers";
import { daemonLabel } from "../../../components/recipe/machine/daemon-labels";
import stack from "../../../stacks";

/**
 * The stacks' program. With `lab:markers` it also installs the markers of the GPU Operator's legacy recipe, without the
 * operator, whose programs no registry here has.
 */
async function program(): Promise<Record<string, pulumi.Input<unknown>>> {
  const { plan } = GpuCluster;
  if (new pulumi.Config("lab").getBoolean("markers")) {
    GpuCluster.plan = (args, also) => {
      const clusterPlan = plan.call(GpuCluster, args, also);
      const machines = clusterPlan.machines.map((machine) => ({
        ...machine,
        nodeLabels: { ...machine.nodeLabels, [daemonLabel.validationMarkers]: "true" },
      }));
      return {
        ...clusterPlan,
        machines,
        kubernetes: { ...clusterPlan.kubernetes, markers: markersOf(clusterPlan.spec) },
      };
    };
  }
  try {
    return await stack();
  } finally {
    GpuCluster.plan = plan;
  }
}

export = program;
