// The fields of each workload of a stack.
export * from "./gpu-server";
export * from "./ollama";
export * from "./comfyui";
export * from "./litellm";
export * from "./vllm";
export * from "./gpu-pod";
export * from "./named";
export * from "./workloads";
