import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { KubernetesRecipe } from "../recipe/types";
import { keeps } from "./pods";

/**
 * The RuntimeClass that routes a pod to containerd's NVIDIA runtime. The GPU Operator makes its own
 * (gpu-operator controllers/object_controls.go), and a second maker would fight it; the device plugin's chart makes none.
 *
 * @returns undefined where the operator makes it.
 */
export function runtimeClass(
  name: string,
  recipe: KubernetesRecipe,
  opts: pulumi.CustomResourceOptions,
): k8s.node.v1.RuntimeClass | undefined {
  if (recipe.runtimeClass.owner !== "component") return undefined;
  return new k8s.node.v1.RuntimeClass(
    `${name}-runtime-class`,
    { metadata: { name: recipe.runtimeClass.name }, handler: recipe.runtimeClass.handler },
    { ...opts, ...keeps(recipe) },
  );
}
