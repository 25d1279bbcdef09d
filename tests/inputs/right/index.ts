export { cluster } from "./cluster";
export { exposure } from "./exposure";
export { machines } from "./machines";
export { patches } from "./patches";
export { workloads } from "./workloads";
