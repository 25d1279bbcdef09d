import { CORDONED_BY } from "../../../../components/machine/program/upgrade/drain";
import { schematics } from "../fakes";
import { failure, setup, STAGED } from "../setup";

describe("a run after a killed one, where Kubernetes does not answer until the machine runs", () => {
  const control = () => {
    const parts = setup({ role: "controlplane" });
    const { machine, cluster } = parts;
    Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED });
    cluster.unreachable = true;
    return parts;
  };

  test("the node that the first run cordoned takes pods again, though the machine is as wanted", async () => {
    const { clock, machine, cluster, run } = control();
    cluster.state = { unschedulable: true, annotations: { [CORDONED_BY]: "talos-gpu" }, ready: true };
    clock.after(90, () => (cluster.unreachable = false));
    expect(await run()).toMatchObject({ rebooted: false });
    expect(machine.calls).toEqual([]);
    expect(cluster.state).toMatchObject({ unschedulable: false, annotations: {} });
  });

  test("a node that nobody cordoned is left alone", async () => {
    const { clock, cluster, lines, run } = control();
    clock.after(90, () => (cluster.unreachable = false));
    expect(await run()).toMatchObject({ rebooted: false });
    expect(cluster.calls).toEqual([]);
    expect(lines.at(-1)).toMatch(/^equal: /);
  });

  test("it fails at its limit where Kubernetes never says", async () => {
    const { clock, run } = control();
    expect(await failure(run())).toMatch(
      /^machines\.gpu-1: whether an earlier run left its node cordoned is not known: Kubernetes did not answer within 5m .*takes no pods; see that `kubectl get node gpu-1` answers/,
    );
    expect(clock.now()).toBe(5 * 60_000);
  });
});
