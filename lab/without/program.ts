import * as pulumi from "@pulumi/pulumi";
import { GpuCluster } from "talos-gpu";
import type { FixId } from "../../components/diagnosis";
import stack from "../../stacks";
import { leaveOut } from "./index";

/**
 * The stacks' program, with plans that lack some fixes. It checks and plans a stack as usual, then changes the plan.
 * The list of fixes is the configuration `lab:without`, since `--repair` empties it for a later update.
 */
async function program(): Promise<Record<string, pulumi.Input<unknown>>> {
  const leftOutFixes = new pulumi.Config("lab").getObject<FixId[]>("without") ?? [];
  if (leftOutFixes.includes("modelsPull")) pulumi.runtime.registerStackTransformation(addPullHook);
  const { plan } = GpuCluster;
  GpuCluster.plan = (args, options) => leaveOut(leftOutFixes, plan.call(GpuCluster, args, options));
  return stack();
}

/** Adds the hook to ollama's container, since the package never makes one. */
const addPullHook: pulumi.ResourceTransformation = ({ type, props, opts }) => {
  if (type !== "kubernetes:apps/v1:Deployment") return undefined;
  for (const container of props["spec"].template.spec.containers)
    if (container.name === "ollama")
      container.lifecycle = {
        postStart: { exec: { command: ["/bin/sh", "-c", "ollama pull llama3.2:3b"] } },
      };
  return { props, opts };
};

export = program;
