import { provide } from "../../tools/provide";
import type { ToolDefinition } from "../../tools/definition";

// `node lab/bundle/run.js lab/tests/tools/provide-once.ts TOOL`: provides a tool (JSON) in a process of its own,
// which a test kills.
void provide([JSON.parse(process.argv[2]!) as ToolDefinition]);
