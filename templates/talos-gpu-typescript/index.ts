import { stack } from "talos-gpu/stack.js";
// A stack is its file, Pulumi.<stack>.yaml. To add resources of your own, use GpuCluster of "talos-gpu" instead.
export = stack;
