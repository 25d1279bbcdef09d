export * from "./getConfiguration";
