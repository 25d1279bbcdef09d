import { matching } from "../evidence";
import type { Rule } from "./rule";

/** The plugin itself runs by the nvidia runtime: its pod can fail like a workload's, before any marker matters. */
export const bpfJitHarden: Rule = {
  fix: "bpfJitHarden",
  sign: (seen) =>
    matching(seen, /last insn is not an exit or jmp|bpf_prog_query.*failed|failed to create device filter/),
  causes: [],
};
