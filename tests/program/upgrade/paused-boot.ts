import { type FakeMachine, schematics } from "../fakes";
import type { Event } from "./scenario";

/** Fields of a machine whose boot a file in its configuration pauses. Nothing else is staged for its next boot. */
export const pausedBoot: Partial<FakeMachine> = {
  active: "broken",
  persistent: "broken",
  stageName: "booting",
  unmetConditions: ["services"],
  bootProblems: ["writeUserFiles failed, rebooting in 35 minutes: already exists"],
  talosVersion: "v1.12.6",
  schematicId: schematics.gpu,
};

/** Completes the next boot: the node becomes ready, and the pod `app`, which was terminating, is gone. */
export const rebootEndsPause: Event[] = (["reboot", "upgrade"] as const).flatMap(
  (call): Event[] => [
    { afterCall: call, machine: { unmetConditions: [], bootProblems: [] } },
    { afterCall: call, seconds: 170, node: { ready: true }, deletedPod: "app" },
  ],
);
