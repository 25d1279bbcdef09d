import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { SecretFiles } from "../../components/clients/secret-files";
import { applyToOmni, releaseFromOmni } from "../../components/machine/program/omni/apply";
import { OmniServer } from "../../components/clients/omni/server";
import type { OmniTask } from "../../components/machine/program/task";
import { Talosctl } from "../../components/clients/talos/talosctl";
import { configPatchType, customizationPath, extensionsType, omniResources } from "../../components/recipe";
import type { Factory } from "../../lab/factory";
import type { Machines } from "../../lab/machines";
import { startOmni, type LabOmni } from "../../lab/omni";
import { Resources } from "../../lab/omni/resources";
import { FakeClock } from "../machine/program/fakes";
import { failure } from "../machine/program/setup";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const waiting = "0d9a7c3e-58f1-4c2b-9a40-6f1d2b7c8e95";
const target = { cluster: "frank", machineSet: "frank-workers", uuid };
const part = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: ""}\n`;
const cluster = { "omni.sidero.dev/cluster": "frank" };
const resource = (type: string, id: string, labels: Record<string, string>, spec: Record<string, unknown>) => ({
  metadata: { namespace: "default", type, id, labels },
  spec,
});

describe("what Omni makes of its resources", () => {
  const resources = new Resources();
  const patch = (id: string, labels: Record<string, string>): void =>
    resources.put(resource(configPatchType, id, labels, { data: id }));
  patch("100-of-machine", { "omni.sidero.dev/machine": uuid });
  patch("600-of-cluster", cluster);
  patch("500-of-cluster", cluster);
  patch("200-of-cluster-machine", { ...cluster, "omni.sidero.dev/cluster-machine": uuid });
  patch("300-of-set", { ...cluster, "omni.sidero.dev/machine-set": "frank-workers" });
  patch("400-disabled", { ...cluster, "omni.sidero.dev/disabled": "" });
  patch("400-of-another", { ...cluster, "omni.sidero.dev/cluster-machine": "another" });

  test("patches by scope, from the cluster to the machine, and within each by ID", () => {
    const names = ["500-of-cluster", "600-of-cluster", "300-of-set", "200-of-cluster-machine", "100-of-machine"];
    expect(resources.patchesOf(target)).toEqual(names);
  });

  test("the most specific list of extensions takes the place of the others", () => {
    resources.put(resource(extensionsType, "all", cluster, { extensions: ["a", "b"] }));
    expect(resources.extensionsOf(target)).toEqual(["a", "b"]);
    const labels = { ...cluster, "omni.sidero.dev/cluster-machine": uuid };
    resources.put(resource(extensionsType, "one", labels, { extensions: ["c"] }));
    expect(resources.extensionsOf(target)).toEqual(["c"]);
    // Of two for the machine that with the higher ID; a disabled one counts; one without a cluster reaches nothing.
    resources.put(
      resource(extensionsType, "two", { ...labels, "omni.sidero.dev/disabled": "" }, { extensions: ["d"] }),
    );
    resources.put(resource(extensionsType, "zero", { "omni.sidero.dev/machine": uuid }, { extensions: ["e"] }));
    expect(resources.extensionsOf(target)).toEqual(["d"]);
  });

  test("what Omni's controllers make is not users' to write", () => {
    const theirs = resource("MachineStatuses.omni.sidero.dev", uuid, {}, {});
    expect(() => resources.put(theirs)).toThrow("PermissionDenied");
  });
});

describe("the program's verbs against it, through omnictl", () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-test-omni-"));
  const stop = new AbortController();
  const files = new SecretFiles();
  let lab: LabOmni;
  const omni = (key = lab.serviceAccountKey): OmniServer =>
    new OmniServer(
      new Talosctl({
        binary: path.join(lab.bin, "omnictl"),
        name: "omnictl",
        talosconfig: undefined,
        environment: { OMNI_ENDPOINT: lab.endpoint, OMNI_SERVICE_ACCOUNT_KEY: key },
        secrets: [key],
      }),
      files,
    );
  const task: OmniTask = {
    machine: "gpu-1",
    uuid,
    cluster: "frank",
    resources: omniResources({ ...target, patches: [part], extensions: ["siderolabs/x"] }),
  };
  const held = (): string[] => lab.resources.all(configPatchType).map(({ metadata }) => metadata.id);

  beforeAll(async () => {
    stop.abort(); // its controllers stand still: this is about resources, and the machine is a stub
    const state = { talosVersion: "v1.12.6", schematicId: "s", stage: "running", ready: true, bootId: "b" };
    const machines = { state: async () => ({ "gpu-1": state }), maintenance: {} } as unknown as Machines;
    const factory = { schematics: () => new Map(), register: () => "s" } as unknown as Factory;
    const nodeReady = async (): Promise<boolean> => true;
    const given = {
      dir,
      talosctl: "none",
      talosconfig: () => "none",
      factory,
      machines,
      nodeReady,
      signal: stop.signal,
    };
    const managed = { name: "gpu-1", address: "192.0.2.1", talosVersion: "v1.12.6", config: "none" };
    lab = await startOmni(given, [
      { ...target, ...managed, member: true },
      { ...target, ...managed, uuid: waiting, member: false },
    ]);
  });
  afterAll(async () => {
    await lab.close();
    files.close();
    fs.rmSync(dir, { recursive: true });
  });

  test("a cluster-wide containerd patch is found on Omni and refused; without it the machine's is applied once", async () => {
    lab.resources.put(resource(configPatchType, "300-cdi-containerd", cluster, { data: part }));
    expect(await failure(applyToOmni(task, omni(), () => {}))).toContain("the patch 300-cdi-containerd in Omni");
    expect(held()).toEqual(["300-cdi-containerd"]);

    await omni().delete(configPatchType, "300-cdi-containerd");
    expect((await applyToOmni(task, omni(), () => {})).written).toHaveLength(2);
    expect((await applyToOmni(task, omni(), () => {})).written).toEqual([]);
    expect(await omni().pending(uuid)).toBe(true);
    expect((await omni().image(uuid))!.talosVersion).toBe("v1.12.6");

    expect((await releaseFromOmni(task, omni(), new FakeClock(), () => {})).removed).toHaveLength(2);
    expect(held()).toEqual([]);
  }, 180_000); // some thirty processes

  test("a machine in no cluster gets its patches before it is added; one that Omni does not know gets none", async () => {
    const forOther = (id: string, name = "frank"): OmniTask => ({
      ...task,
      uuid: id,
      cluster: name,
      resources: omniResources({ cluster: name, uuid: id, patches: [part], extensions: ["siderolabs/x"] }),
    });
    expect(await omni().clusterMachine(waiting)).toBeUndefined();
    expect((await applyToOmni(forOther(waiting), omni(), () => {})).written).toHaveLength(2);
    expect(await omni().pending(waiting)).toBe(false); // nothing is done with it before it is a member

    expect(lab.addToCluster(waiting)).toBe(true);
    expect(lab.addToCluster(waiting)).toBe(false);
    expect(await omni().clusterMachine(waiting)).toMatchObject({ cluster: "frank", configUpToDate: false });
    expect((await releaseFromOmni(forOther(waiting), omni(), new FakeClock(), () => {})).removed).toHaveLength(2);

    const stranger = "11111111-1111-4111-8111-111111111111";
    expect(await failure(applyToOmni(forOther(stranger), omni(), () => {}))).toContain("Omni knows no machine");
    expect(held()).toEqual([]);
  }, 180_000);

  test("a wrong key is refused, and is in no message", async () => {
    const message = await failure(omni("wrong-service-account-key").patches());
    expect(message).toContain("Unauthenticated");
    expect(message).not.toContain("wrong-service-account-key");
  }, 60_000);
});
