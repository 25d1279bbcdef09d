import * as pulumi from "@pulumi/pulumi";
import { GpuCluster } from "talos-gpu";
import type { FixId } from "../../components/diagnosis";
import stack from "../../stacks";
import { leaveOut } from "./index";

/**
 * The stacks' program with plans that lack some fixes. It checks and plans a stack as always; what comes of that is changed.
 * The fixes are configuration of the lab's own, `lab:without`, as a repair takes them back in a later update.
 */
async function program(): Promise<Record<string, pulumi.Input<unknown>>> {
  const without = new pulumi.Config("lab").getObject<FixId[]>("without") ?? [];
  if (without.includes("modelsPull")) pulumi.runtime.registerStackTransformation(pulledByHook);
  const { plan } = GpuCluster;
  GpuCluster.plan = (args, also) => leaveOut(without, plan.call(GpuCluster, args, also));
  return stack();
}

/** The package makes no hook, so a container of ollama's gets it here. */
const pulledByHook: pulumi.ResourceTransformation = ({ type, props, opts }) => {
  if (type !== "kubernetes:apps/v1:Deployment") return undefined;
  for (const container of props["spec"].template.spec.containers)
    if (container.name === "ollama")
      container.lifecycle = {
        postStart: { exec: { command: ["/bin/sh", "-c", "ollama pull llama3.2:3b"] } },
      };
  return { props, opts };
};

export = program;
