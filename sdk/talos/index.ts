export * from "./provider";
export * as cluster from "./cluster/kubeconfig";
export * as imagefactory from "./imagefactory/schematic";
export * as machine from "./machine";
export * as types from "./types";
