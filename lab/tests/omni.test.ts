import { configPatchType, extensionsType } from "../../components/recipe";
import { Resources } from "../omni/resources";

// How the program writes them is asked by tests/machine/program/omni, that both fit by tests/e2e (omni, life, the stack frank).

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const target = { cluster: "frank", machineSet: "frank-workers", uuid };
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
