import * as pulumi from "@pulumi/pulumi";

/** Whether there is an engine that calls hooks of this kind back: the mock monitor of a program's unit test has none, an older SDK none for errors. */
export function hooksAreThere(kind: "registerResourceHook" | "registerErrorHook"): boolean {
  const { getMonitor } = pulumi.runtime as unknown as {
    getMonitor?: () => Partial<Record<typeof kind, unknown>>;
  };
  return typeof getMonitor?.()?.[kind] === "function";
}
