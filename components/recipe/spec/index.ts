/**
 * The fields of a stack: plain data, no Pulumi. The stack file, the component's arguments and the pure recipe all use
 * these types. So they use only what Pulumi's schema analyzer accepts: interfaces of data, `as const` enums, no
 * unions. They are plain values and not `Input`s on purpose: the checks must see all of them at preview.
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
