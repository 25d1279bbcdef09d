import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { measureWholeProcess } from "../measured";

// `sdk.ts`: the start of a program that loads the SDKs of Pulumi and of Kubernetes, as the stacks' program does, and does nothing.

void measureWholeProcess(() => {
  if (!pulumi.Resource || !k8s.Provider) throw new Error("an SDK is not there");
});
