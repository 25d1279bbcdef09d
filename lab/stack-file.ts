/** The lab reads the same stack files as everything else. */
export * from "../stacks/stack-file";
