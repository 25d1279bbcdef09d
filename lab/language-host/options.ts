import type { ProgramInfo } from "@pulumi/pulumi/proto/language_pb";
import { createRequire } from "node:module";
import * as path from "node:path";

/** `runtime.options` of a Pulumi.yaml (main.go, parseOptions). */
export interface NodeOptions {
  /** Run by ts-node. Default true. */
  typescript: boolean;
  /** Another name of tsconfig.json. */
  tsconfig: string;
  /** Arguments of Node itself. */
  nodeargs: string[];
}

/** The options that a project's `runtime` has. */
export function nodeOptions(info: ProgramInfo | undefined): NodeOptions {
  const said = (info?.getOptions()?.toJavaScript() ?? {}) as Record<string, unknown>;
  const text = (key: string): string => (typeof said[key] === "string" ? said[key] : "");
  return {
    typescript: said["typescript"] !== false,
    tsconfig: text("tsconfig"),
    nodeargs: text("nodeargs").split(/\s+/).filter(Boolean),
  };
}

/** The variables that tell `cmd/run` and `cmd/run-plugin` of them. */
export function optionVariables({ typescript, tsconfig }: NodeOptions): Record<string, string> {
  return {
    ...(typescript ? { PULUMI_NODEJS_TYPESCRIPT: "true" } : {}),
    ...(tsconfig === "" ? {} : { PULUMI_NODEJS_TSCONFIG_PATH: tsconfig }),
  };
}

/**
 * File of a module of the SDK, as a program in that folder finds it (main.go, locateModule).
 *
 * @throws Error with the real host's words when the SDK is not installed there.
 */
export function locateModule(name: string, folder: string): string {
  try {
    return createRequire(path.join(folder, "program.js")).resolve(name);
  } catch {
    throw new Error("It looks like the Pulumi SDK has not been installed. Have you run npm install or yarn install?");
  }
}
