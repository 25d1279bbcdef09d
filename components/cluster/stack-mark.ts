import * as pulumi from "@pulumi/pulumi";
import { OWNER } from "../kubernetes/guard/live";

/** How a program that asks Kubernetes knows an object of this stack: the annotation that names the owner, and how its value begins. */
export const stackMark = (): { annotation: string; ours: string } => ({
  annotation: OWNER,
  ours: `${pulumi.getProject()}/${pulumi.getStack()}/`,
});
