/**
 * The fields of a stack: plain data, no Pulumi. The stack file, the component's arguments and the pure recipe all use
 * these types. So the types use only what Pulumi's schema analyzer accepts: interfaces of data, `as const` enums, no
 * unions. The fields are plain values, and not `Input`s, because the checks must see every value at preview.
 */
export * from "./driver";
export * from "./external";
export * from "./gpu";
export * from "./image";
export * from "./machine";
export * from "./releases";
export * from "./release-facts";
export * from "./sharing";
export * from "./update";
export * from "./workloads/index";
export * from "./cluster";
