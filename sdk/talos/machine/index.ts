export * from "./bootstrap";
export * from "./configurationApply";
export * from "./getConfiguration";
export * from "./secrets";
