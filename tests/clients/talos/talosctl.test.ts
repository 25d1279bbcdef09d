import { CallError } from "../../../components/clients/failure";
import type { Ending } from "../../../components/clients/machine";
import { Talosctl } from "../../../components/clients/talos/talosctl";
import { applyLive } from "../../../components/program/upgrade/upgrade";
import { FakeClock, FakeMachine } from "../../program/fakes";
import { setupUpgrade } from "../../program/setup";

/**
 * The error of talosctl if Talos 1.13 refuses a change without a boot (v1alpha1_runtime.go, CanApplyImmediate).
 */
const refusal =
  "error applying new configuration: rpc error: code = InvalidArgument desc = this config change can't be applied in immediate mode";

/** The error of a talosctl call that fails with this output. */
const errorOfCall = (text: string): Promise<unknown> =>
  new Talosctl({ binary: "/bin/sh", talosconfig: undefined, secrets: [] })
    .run(["-c", 'printf "%s" "$0" >&2; exit 1', text], 10_000)
    .catch((error: unknown) => error);

test.each([
  [
    "Talos ≥ 1.10",
    "\ndiff:\n--- a\n+++ b\n+      content: |\n+        cat <<EOF\n+        locked: hunter2",
  ],
  ["an older Talos", "\ndiff:   &v1alpha1.Config{\n+    password: hunter2 EOF"],
  ["a Talos that prints no configuration", ""],
])("a refusal by %s is reported without the configuration in it", async (_, diff) => {
  const error = await errorOfCall(refusal + diff);
  expect(error).toEqual(new CallError("refused", `talosctl -c failed (exit 1): ${refusal}`));
  expect(error).toMatchObject({ problem: "refused" });

  const machine = new FakeMachine(new FakeClock());
  jest.spyOn(machine, "activate").mockRejectedValue(error);
  const { context, logLines } = setupUpgrade();
  expect(await applyLive({ ...context, machine })).toBe(false);
  expect(logLines).toEqual([`apply: needs a reboot (talosctl -c failed (exit 1): ${refusal})`]);
});

test("a call ends at its limit, or when its periodic check ends it, and the error has the duration", async () => {
  const talosctl = new Talosctl({ binary: "/bin/sh", talosconfig: undefined, secrets: [] });
  const errorOfSleep = (limit: number, ending?: Ending): Promise<unknown> =>
    talosctl.run(["-c", "exec sleep 30"], limit, ending).catch((error: unknown) => error);
  expect(await errorOfSleep(1_234)).toEqual(
    new CallError("unreachable", "talosctl -c did not end within 1s"),
  );
  let lookCount = 0;
  const endAtThirdLook = { every: 100, ends: () => Promise.resolve(++lookCount === 3) };
  expect(await errorOfSleep(10_000, endAtThirdLook)).toEqual(
    new CallError("unreachable", "talosctl -c did not end within 300ms"),
  );
  // Only one look runs at a time, even if it is slow: each look starts a talosctl.
  let [runningLooks, mostRunningLooks] = [0, 0];
  const slowLook = async (): Promise<boolean> => {
    mostRunningLooks = Math.max(mostRunningLooks, ++runningLooks);
    await new Promise((resolve) => setTimeout(resolve, 250));
    runningLooks--;
    return false;
  };
  await errorOfSleep(800, { every: 50, ends: slowLook });
  expect(mostRunningLooks).toBe(1);
});

test.each([
  [
    "talosctl",
    /^talosctl: is not in PATH; .*; install talosctl of .*, or set TALOS_GPU_TALOSCTL to its path$/,
  ],
  ["/nowhere/talosctl", /^talosctl: \/nowhere\/talosctl does not exist; /],
])("a missing program is reported: %s", async (binary, expectedMessage) => {
  const talosctl = new Talosctl({ binary, talosconfig: undefined, secrets: [] });
  const { PATH } = process.env;
  process.env["PATH"] = "/nowhere";
  await expect(
    talosctl.run(["version"], 10_000).finally(() => void (process.env["PATH"] = PATH)),
  ).rejects.toThrow(expectedMessage);
});
