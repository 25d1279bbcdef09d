import * as pulumi from "@pulumi/pulumi";

/**
 * Whether the engine supports hooks of this kind. The mock monitor of a program's unit test supports no hooks, and an
 * older SDK has no error hooks.
 */
export function hooksAreThere(kind: "registerResourceHook" | "registerErrorHook"): boolean {
  const { getMonitor } = pulumi.runtime as unknown as {
    getMonitor?: () => Partial<Record<typeof kind, unknown>>;
  };
  return typeof getMonitor?.()?.[kind] === "function";
}
