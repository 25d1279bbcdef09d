import type { CallContext, CheckFailure, Properties } from "../provider";
import type { Tools } from "./machine";

/** A call of the engine. */
export interface ResourceCall {
  readonly preview: boolean;
  /** 0: the provider's default. */
  readonly timeoutSeconds: number;
  readonly context: CallContext;
}

/** One kind of resource: what each verb does. */
export interface Resource {
  /** What is wrong with the arguments, beyond their schema. */
  check?(inputs: Properties, name: string): CheckFailure[];
  /** Which of changed arguments need another resource. Default: none. */
  replaces?(olds: Properties, news: Properties): string[];
  create(tools: Tools, inputs: Properties, call: ResourceCall): Promise<{ id: string; outputs: Properties }>;
  /** Gives the new outputs. */
  update(tools: Tools, inputs: Properties, call: ResourceCall): Promise<Properties>;
}
