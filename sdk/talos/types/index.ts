export * as input from "./input";
export * as output from "./output";
