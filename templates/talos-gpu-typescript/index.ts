import { stack } from "talos-gpu/stack.js";
// The file Pulumi.<stack>.yaml describes the stack. To add your own resources, use GpuCluster of "talos-gpu" instead.
export = stack;
