import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { measureWholeProcess } from "../measured";

// `sdk.ts`: a program that loads the SDKs of Pulumi and of Kubernetes, like the stacks' program, and does nothing
// else.

void measureWholeProcess(() => {
  if (!pulumi.Resource || !k8s.Provider) throw new Error("an SDK is not there");
});
