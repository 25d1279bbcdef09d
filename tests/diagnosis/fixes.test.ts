import * as fs from "node:fs";
import * as path from "node:path";
import { diagnose, type Observations } from "../../components/diagnosis";
import { fixIds } from "../../components/diagnosis/fix-ids";
import { planCluster } from "../../components/recipe/index";
import { validStack } from "../recipe/stacks";
import { found, noDriver, operator, planOf, stuck } from "./stuck";

const bpf =
  "failed to create containerd task: nvidia-container-cli: mount error: failed to create device filter: failed to add device rules: unable to generate new device filter program from existing programs: unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp\nprocessed 0 insns";

describe("each fix by what is seen without it", () => {
  test("validationMarkers", () => {
    const [diagnosis, ...more] = diagnose(stuck, planOf("rtx5070ti"));
    expect(more).toEqual([]);
    expect(diagnosis).toMatchObject({ fix: "validationMarkers" });
    expect(diagnosis?.evidence).toContain(
      "Pod/nvidia-device-plugin-daemonset-x: Init, toolkit-validation does not end",
    );
  });

  test("privilegedNamespace", () => {
    const message =
      'Error creating: pods "nvidia-gpu-operator-node-feature-discovery-worker-" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volumes "host-boot")';
    const seen: Observations = {
      daemonSets: [
        { namespace: operator, name: "node-feature-discovery-worker", desired: 1, ready: 0, events: [message] },
      ],
      events: [{ namespace: operator, object: "DaemonSet/nvidia-validation-markers", reason: "FailedCreate", message }],
      nodes: [{ name: "k8s-worker4", labels: {} }],
    };
    expect(found(seen, planOf("rtx5070ti"))).toEqual(["privilegedNamespace"]);
  });

  test("kernelModules", () => {
    const [diagnosis] = diagnose({ machines: noDriver ?? [] }, planOf("rtx5070ti"));
    expect(diagnosis).toMatchObject({
      fix: "kernelModules",
      evidence: ["k8s-worker4: no module nvidia is loaded", "k8s-worker4: ext-nvidia-persistenced is Waiting"],
    });
  });

  test("bpfJitHarden", () => {
    const seen: Observations = {
      ...stuck,
      pods: [
        {
          namespace: "kube-system",
          name: "nvidia-device-plugin-x",
          phase: "Pending",
          containers: [{ name: "ctr", state: "waiting", reason: "RunContainerError", message: bpf }],
        },
      ],
    };
    for (const stack of ["rtx5070ti", "aarhus-h100"]) expect(found(seen, planOf(stack))).toEqual(["bpfJitHarden"]);
    expect(diagnose(seen, planOf("aarhus-h100"))[0]?.evidence[0]).toContain("last insn is not an exit or jmp");
  });

  test.each([
    'Error creating: pods "nvidia-device-plugin-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
    'pods "smoke" is forbidden: pod rejected: runtimeclass.node.k8s.io "nvidia" not found',
  ])("runtimeClass: %s", (message) => {
    const seen: Observations = {
      daemonSets: [{ namespace: "kube-system", name: "nvidia-device-plugin", desired: 1, ready: 0, events: [message] }],
      runtimeClasses: [],
    };
    expect(found(seen, planOf("aarhus-h100"))).toEqual(["runtimeClass"]);
  });

  test("gpuPresentLabel", () => {
    const seen: Observations = {
      daemonSets: [{ namespace: "kube-system", name: "nvidia-device-plugin", desired: 0, ready: 0 }],
      nodes: [{ name: "talos-gpu", labels: { "kubernetes.io/os": "linux" }, allocatable: {}, ready: true }],
      runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
      machines: [{ name: "talos-gpu", modules: ["nvidia"], driverVersion: "570.172.08" }],
    };
    const [diagnosis] = diagnose(seen, planOf("aarhus-h100"));
    expect(diagnosis).toMatchObject({
      fix: "gpuPresentLabel",
      evidence: ["DaemonSet/nvidia-device-plugin wants 0 pods", "node talos-gpu lacks nvidia.com/gpu.present=true"],
    });
  });
});

describe("each fix of tainted nodes and of the plugin's options", () => {
  const velaryon = (taints: string[]): Observations => ({ nodes: [{ name: "velaryon", labels: {}, taints }] });
  const pending = (text: string): NonNullable<Observations["events"]> => [
    {
      namespace: "nvidia-device-plugin",
      object: "Pod/gpu-smoke-test-x",
      reason: "FailedScheduling",
      message: `0/1 nodes are available: ${text}`,
    },
  ];

  test("deviceListStrategy, by what the plugin said before it was started again", () => {
    const refused = "invalid --device-list-strategy option: invalid strategy: envvars";
    const seen = (namespace: string): Observations => ({
      pods: [
        {
          namespace,
          name: "nvidia-device-plugin-x",
          phase: "Running",
          containers: [{ name: "ctr", state: "waiting", reason: "CrashLoopBackOff", lastMessage: refused }],
        },
      ],
    });
    expect(found(seen("kube-system"), planOf("aarhus-h100"))).toEqual(["deviceListStrategy"]);
    expect(found(seen("elsewhere"), planOf("aarhus-h100"))).toEqual([]);
  });

  test.each(["1 node(s) had untolerated taint {gpu: true}.", "1 node(s) had untolerated taint(s)."])(
    "tolerations: %s",
    (text) => {
      const seen = { ...velaryon(["gpu=true:NoSchedule"]), events: pending(text) };
      expect(found(seen, planOf("velaryon"))).toEqual(["tolerations"]);
    },
  );

  test("a taint of somebody else's is no missing toleration of ours", () => {
    const seen = {
      ...velaryon(["gpu=true:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"]),
      events: pending("1 node(s) had untolerated taint(s)."),
    };
    expect(found(seen, planOf("velaryon"))).toEqual([]);
  });

  test("taintThroughApi", () => {
    const [diagnosis] = diagnose(velaryon(["other:NoSchedule"]), planOf("velaryon"));
    expect(diagnosis).toMatchObject({ fix: "taintThroughApi", evidence: ["node velaryon lacks gpu=true:NoSchedule"] });
    expect(found(velaryon(["gpu=true:NoSchedule"]), planOf("velaryon"))).toEqual([]);
  });
});

test("where the stack has the fix, the advice is another one", () => {
  const [diagnosis] = diagnose(stuck, planCluster(validStack("rtx5070ti")));
  expect(diagnosis?.fix).toBe("validationMarkers");
  expect(diagnosis?.remedy).toContain("the stack has this fix");
});

test("each fix is named by a test of what is seen without it", () => {
  const tests = fs.readdirSync(__dirname).filter((file) => file.endsWith(".test.ts"));
  const texts = tests.map((file) => fs.readFileSync(path.join(__dirname, file), "utf8")).join("\n");
  expect(fixIds.filter((id) => !new RegExp(`"${id}\\b`).test(texts))).toEqual([]);
});
