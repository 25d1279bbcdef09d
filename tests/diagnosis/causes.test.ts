import { diagnose, type Observations } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe/index";
import { validStack } from "../recipe/stacks";
import { found, noDriver, operator, planOf, stuck } from "./stuck";

describe("causes, not consequences", () => {
  test("without a driver pods wait like without markers", () => {
    expect(found({ ...stuck, machines: noDriver ?? [] }, planOf("rtx5070ti"))).toEqual(["kernelModules"]);
  });

  test("pods that are refused write no markers", () => {
    const refused: Observations = {
      ...stuck,
      events: [
        {
          namespace: operator,
          object: "DaemonSet/nvidia-validation-markers",
          message: 'violates PodSecurity "baseline:latest"',
        },
      ],
    };
    expect(found(refused, planOf("rtx5070ti"))).toEqual(["privilegedNamespace"]);
  });

  test("two causes are both named", () => {
    const seen: Observations = {
      machines: noDriver ?? [],
      events: [{ namespace: operator, object: "ReplicaSet/x", message: 'violates PodSecurity "baseline:latest"' }],
    };
    expect(found(seen, planOf("rtx5070ti"))).toEqual(["kernelModules", "privilegedNamespace"]);
  });
});

describe("no false alarm", () => {
  test.each(["rtx5070ti", "aarhus-h100", "modern"])("%s: nothing seen, nothing said", (name) =>
    expect(diagnose({}, planCluster(validStack(name)))).toEqual([]),
  );

  test("pods that wait a moment while the markers are kept", () => {
    const seen: Observations = {
      ...stuck,
      daemonSets: [{ namespace: operator, name: "nvidia-validation-markers", desired: 1, ready: 1 }],
      nodes: [{ name: "k8s-worker4", labels: { "nvidia.com/gpu.deploy.operator-validator": "false" } }],
    };
    expect(found(seen, planCluster(validStack("rtx5070ti")))).toEqual([]);
  });

  test("waiting on Talos 1.13 is not for markers", () => {
    const pods = (stuck.pods ?? []).map((pod) => ({ ...pod, namespace: "gpu-operator" }));
    expect(found({ pods }, planCluster(validStack("modern")))).toEqual([]);
  });

  test("a machine that runs another image has no driver for another reason", () => {
    expect(
      found(
        { machines: [{ name: "k8s-worker4", schematicId: "376567988ad3", modules: [] }] },
        planCluster(validStack("rtx5070ti")),
      ),
    ).toEqual([]);
  });

  test("a machine without a GPU needs none", () => {
    expect(found({ machines: [{ name: "mini-1", modules: [] }] }, planCluster(validStack("frank")))).toEqual([]);
  });

  test("somebody else's namespace", () => {
    expect(
      found(
        { events: [{ namespace: "media", object: "ReplicaSet/x", message: 'violates PodSecurity "baseline:latest"' }] },
        planCluster(validStack("rtx5070ti")),
      ),
    ).toEqual([]);
  });

  test("a RuntimeClass that is there by now", () => {
    const seen: Observations = {
      events: [{ object: "Pod/x", message: 'RuntimeClass "nvidia" not found' }],
      runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
    };
    expect(found(seen, planCluster(validStack("aarhus-h100")))).toEqual([]);
  });

  test("a RuntimeClass that the stack has not come to yet", () =>
    expect(found({ runtimeClasses: [] }, planCluster(validStack("aarhus-h100")))).toEqual([]));
});
