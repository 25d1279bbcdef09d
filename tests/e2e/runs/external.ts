import type { ClusterSpec, ExternalKind } from "../../../components/recipe";
import { labTimeouts } from "../../../lab/clock";
import { installExternalRelease } from "../../../lab/cluster/external";
import { parseOptions } from "../../../lab/options";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { KubernetesObject } from "../../../lab/kubernetes/cluster";
import type { RunningLab } from "../../../lab/run/running-lab";
import { engineConfig, openEngine, update } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { furtherOptions } from "../support/further-options";
import { runAsProgram, openLab } from "./run-as-program";

/** State of an external release after each step: the stack uses it, takes it over, hands it back and is destroyed. */
export interface ExternalReleaseRun {
  steps: {
    step: string;
    result: string;
    diagnostics: string[];
    /** UIDs of the release's pods, by name. */
    pods: Record<string, string>;
    /** Whether namespace and RuntimeClass still have their first UIDs. */
    sameObjects: boolean;
  }[];
  /** Reboots of the machine. */
  reboots: number;
}

/** The external releases, under names that users choose, with the stack's fields for them. */
const releases = {
  plugin: {
    field: "devicePlugin",
    takeOver: "nvdp",
    version: "0.18.2",
    namespace: "nvidia-device-plugin",
    values: { runtimeClassName: "nvidia" },
  },
  operator: {
    field: "gpuOperator",
    takeOver: "gpu-operator-1732",
    version: "v25.10.1",
    namespace: "gpu-operator",
    values: {
      driver: { enabled: false },
      toolkit: { enabled: false },
      cdi: { enabled: false },
      validator: { plugin: { env: [{ name: "WITH_WORKLOAD", value: "false" }] } },
    },
  },
} as const;

async function run(session: Session, gpuProvider = "plugin"): Promise<ExternalReleaseRun> {
  const { field, ...release } = releases[gpuProvider as keyof typeof releases];
  const { takeOver: name, version, namespace, values } = release;
  const options = parseOptions(["--stack", "outside", ...furtherOptions]);
  const machine = {
    address: "192.0.2.31",
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 5070 Ti" }],
  };
  const baseSpec = {
    talosVersion: "v1.12.6",
    machines: { gpu: machine },
    timeouts: labTimeouts(options),
  } as ClusterSpec;
  const ownedSpec = { ...baseSpec, [field]: release };
  const external = { kind: field as ExternalKind, version, namespace, values, read: { name } };
  const externalSpec: ClusterSpec = { ...baseSpec, external };
  const lab = await openLab(session, options, externalSpec);
  await installExternalRelease(lab);
  [lab.initialSnapshot, lab.engine] = await Promise.all([takeSnapshot(lab), openEngine(lab)]);
  const firstUids = await readUids(lab, namespace);
  const steps: ExternalReleaseRun["steps"] = [];
  const recordStep = async (step: string, result: string, diagnostics: string[]): Promise<void> => {
    const { pods, ...objects } = await readUids(lab, namespace);
    steps.push({
      step,
      result,
      diagnostics,
      pods,
      sameObjects:
        objects.namespaceUid === firstUids.namespaceUid &&
        (gpuProvider === "operator" || objects.runtimeClassUid === firstUids.runtimeClassUid),
    });
  };
  const updateTo = async (step: string, spec: ClusterSpec): Promise<void> => {
    Object.assign(lab, { spec, config: { ...spec } });
    await lab.engine.configure(engineConfig(lab));
    const { report, diagnostics } = await update(lab, lab.engine, (line) =>
      console.error(`${step}: ${line}`),
    );
    await recordStep(step, report.result, diagnostics);
  };
  await updateTo("beside", externalSpec);
  await updateTo("taken over", ownedSpec);
  await updateTo("the same again", ownedSpec);
  await updateTo("to be handed back", { ...baseSpec, [field]: { ...release, handBack: true } });
  await updateTo("handed back", externalSpec);
  const { result, diagnostics } = await lab.engine.destroy({ signal: session.signal });
  await recordStep("destroyed", result, [...diagnostics]);
  return { steps, reboots: (await lab.machines.state())["gpu"]!.reboots };
}

/** The release's pods, its namespace and the RuntimeClass, by their UIDs. */
async function readUids({ kubernetes }: RunningLab, namespace: string) {
  const namespacePath = `/api/v1/namespaces/${namespace}`;
  const items = await kubernetes.all<KubernetesObject>(`${namespacePath}/pods`);
  const releasePods = items.filter(
    ({ metadata }) => metadata?.labels?.["app.kubernetes.io/managed-by"] !== "talos-gpu",
  );
  const classes = await kubernetes.all<KubernetesObject>("/apis/node.k8s.io/v1/runtimeclasses");
  return {
    pods: Object.fromEntries(releasePods.map(({ metadata }) => [metadata!.name!, metadata!.uid!])),
    namespaceUid: (await kubernetes.readPath<KubernetesObject>(namespacePath)).metadata?.uid,
    runtimeClassUid: classes.find(({ metadata }) => metadata?.name === "nvidia")?.metadata?.uid,
  };
}

runAsProgram(run);
