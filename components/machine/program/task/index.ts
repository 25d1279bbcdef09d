/**
 * What the program is told (standard input) and what it answers (last line of standard output), by verb. Nothing here is
 * secret: credentials come by environment. What `preflight` is told stands beside it.
 */
export * from "./adopt";
export * from "./gate";
export * from "./kubernetes";
export * from "./omni";
export * from "./upgrade";
