import * as pulumi from "@pulumi/pulumi";
import { noArguments, refusal } from "./pulumi/checked-arguments";
import { gpuExposure } from "./cluster/exposure";
import { makeFleet } from "./cluster/gpu-machines";
import { preflight } from "./cluster/preflight";
import { talosProvider, warnOfProvider } from "./cluster/providers";
import { warnIfUnseen } from "./cluster/unseen";
import { UpdateSummary } from "./cluster/update-summary";
import { accessOf } from "./credentials/access";
import { splitCredentials, type Credentials, credentialFindings } from "./credentials/credentials";
import { withExternal } from "./lookups/external-files";
import { withAway } from "./lookups/machines-away";
import { askFactory, type AskedStack } from "./lookups/release-facts";
import { withClassThere } from "./lookups/runtime-class-there";
import { afterGate, gpuStack, passed } from "./kubernetes";
import { askingClass } from "./kubernetes/pods";
import { reconciling } from "./kubernetes/reconcile";
import { clusterCredentials } from "./machine/bootstrap";
import { registerSchematics } from "./machine/schematic";
import type { MachineReport } from "./machine/upgrade";
import { InvalidStackError, judge } from "./recipe";
import { showRemarks } from "./pulumi/remarks";
import { transformsMore, withoutStackTracesUnless } from "./pulumi/without-stack-traces";
import { isMapping } from "./recipe/mapping";
import type { StackSpec } from "./recipe/spec/index";
import type { CheckedPlan, Finding } from "./recipe/types";
import { gpuWorkloads } from "./workloads";

/** Arguments of a GPU cluster: its wanted state, in plain data that the checks see at preview, and the credentials. */
export interface GpuClusterArgs extends StackSpec, Credentials {}

/**
 * Talos machines with NVIDIA cards, made GPU nodes and kept so: image, configuration, upgrade and node of each machine,
 * what exposes the GPUs in Kubernetes, a smoke test on every GPU machine, and the workloads. What uses
 * `runtimeClassName` or `gpuResourceName` waits for all of it. Destroying it takes away what runs in Kubernetes. It neither
 * wipes nor downgrades a machine; Omni alone brings a machine's earlier image back, by itself, when our part of the machine
 * goes. The kernel modules stay in a machine's configuration with the image, whose boot would not end without them. Pass the
 * Kubernetes provider in the options. A stack that bootstraps its cluster needs none: `kubeconfig` then leads to it.
 *
 * A stack with mistakes is refused at preview, before anything is registered; the error lists all of them.
 */
export class GpuCluster extends pulumi.ComponentResource {
  /** What each machine runs, by node name. Resolves once every machine is done. */
  public readonly machines: pulumi.Output<Record<string, MachineReport>>;
  /**
   * True once a smoke test has computed on every GPU machine, through the device plugin. False when the update could not test
   * one, since other pods use all its units.
   */
  public readonly gpuReady: pulumi.Output<boolean>;
  /** RuntimeClass for pods that want a GPU, e.g. `nvidia`; empty where they claim it. Resolves only after the gate. */
  public readonly runtimeClassName: pulumi.Output<string>;
  /**
   * Resource for pods to request, e.g. `nvidia.com/gpu`, or, with `dra`, class of the devices for them to claim, `gpu.nvidia.com`. A
   * resource has a `/`, and a class has none. Resolves only after the gate.
   */
  public readonly gpuResourceName: pulumi.Output<string>;
  /** Labels of the nodes with GPUs, for charts that ask for some, e.g. `{ "nvidia.com/gpu.present": "true" }`. Resolve only after the gate. */
  public readonly gpuNodeSelector: pulumi.Output<Record<string, string>>;
  /** URLs within the cluster, by workload (`ollama`, `comfyui`, `vllm`, `litellm`); inactive ones have none. Resolve once they serve. */
  public readonly endpoints: pulumi.Output<Record<string, string>>;

  /** Talos client configuration: made with the cluster where the stack bootstraps it, else as given, else empty. Secret. */
  public readonly talosconfig: pulumi.Output<string>;
  /**
   * Secrets of the cluster, as `talosctl gen secrets` writes them: made with the cluster where the stack bootstraps it, else as given,
   * else empty. Of a cluster that the stack made they are nowhere else: save them before you destroy the stack. Secret.
   */
  public readonly machineSecrets: pulumi.Output<string>;
  /**
   * Kubeconfig of an administrator: fetched where the stack bootstraps the cluster, else as given, else empty. If you
   * pass a kubeconfig, the package drains machines and reads objects with it. It creates objects with the Kubernetes
   * provider of the options. Secret.
   */
  public readonly kubeconfig: pulumi.Output<string>;

  constructor(name: string, args: GpuClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    const plan = GpuCluster.plan(args);
    const nodes = plan.machines.map((machine) => machine.name);
    const summary = new UpdateSummary(name, nodes);
    // A machine's own component names its wanted state and the effect of a change; here it would be reported twice.
    const { machines: _, ...cluster } = plan.spec;
    const seeing = plan.spec.bootstrap
      ? <T>(same: T): T => same
      : warnIfUnseen(name, args.kubeconfig);
    const watched = seeing(summary.watching(opts));
    super("talos-gpu:index:GpuCluster", name, cluster, watched);
    const child = { parent: this };
    const registering = withoutStackTracesUnless(transformsMore(this, watched, opts));
    showRemarks(this, plan.remarks);

    const access = accessOf(clusterCredentials(name, plan, splitCredentials(args).given, child));
    const { secrets } = access;
    if (!plan.spec.bootstrap) warnOfProvider(this, secrets.kubeconfig);
    const ofTalos = pulumi.runtime.isDryRun() ? talosProvider(this) : undefined;
    if (ofTalos !== undefined) void pulumi.log.info(ofTalos, this);
    // Others have an image that Omni makes, or one of their owner's.
    const imaged = plan.machines.filter(
      ({ configuration, ownImage }) => configuration !== "omni" && !ownImage,
    );
    const schematics = registerSchematics(name, imaged, child);
    const asked = preflight(name, plan, secrets, schematics, seeing(child));
    const exposure = gpuExposure(name, plan, secrets, { ...child, dependsOn: asked });
    const fleet = registering(() =>
      makeFleet(name, plan, { access, schematics, after: exposure }, child),
    );
    const { inCluster } = fleet;
    const ofCluster = plan.spec.bootstrap ? { ...secrets, kubeconfig: fleet.kubeconfig } : secrets;
    const reconcile = reconciling(name, plan.spec.reconcileToken, ofCluster);
    const stages = { ...fleet.stages, exposure, secrets: ofCluster, reconcile };
    const gate = registering(() => gpuStack(name, plan, stages, inCluster));
    this.runtimeClassName = afterGate(gate, askingClass(plan.kubernetes));
    this.gpuResourceName = afterGate(gate, plan.kubernetes.resourceName);
    this.gpuNodeSelector = afterGate(gate, plan.kubernetes.nodeSelector);
    const { runtimeClassName, gpuResourceName, gpuNodeSelector } = this;
    const working = reconcile.step("workloads");
    const gpus = { runtimeClassName, gpuResourceName };
    this.endpoints = gpuWorkloads(name, plan, gpus, fleet.stages.ahead, working.with(inCluster));
    working.putBack(child);

    this.machines = fleet.reports(summary.settled);
    this.gpuReady = passed(gate);
    this.kubeconfig = fleet.kubeconfig;
    this.talosconfig = secrets.talosconfig ?? pulumi.secret("");
    this.machineSecrets = secrets.machineSecrets ?? pulumi.secret("");
    this.registerOutputs({
      machines: this.machines,
      gpuReady: this.gpuReady,
      runtimeClassName,
      gpuResourceName,
      gpuNodeSelector,
      endpoints: this.endpoints,
      talosconfig: this.talosconfig,
      machineSecrets: this.machineSecrets,
      kubeconfig: this.kubeconfig,
    });
  }

  /**
   * Adds facts from the cluster, the Image Factory and `external`'s files to the arguments. Await it before `plan` and
   * the constructor, where a program can. Never fails; a Factory that
   * does not answer costs half a minute at the most. It adds:
   *
   * - the content of the files of `external`;
   * - whether the cluster's RuntimeClass `nvidia` is external, if the stack brings a device plugin;
   * - which of the machines that may be away are away;
   * - drivers and extensions by the Image Factory, for each Talos release of the stack, of machines and of pools that
   * the tables lack. Without them the drivers of such a release are assumed.
   */
  public static async withFacts<T extends AskedStack>(args: T): Promise<T> {
    const [facts, there, away] = await Promise.all([
      askFactory(args),
      withClassThere(args),
      withAway(args),
    ]);
    return { ...args, ...withExternal(args), ...there, ...away, ...facts };
  }

  /**
   * What a cluster with these arguments would do, computed without registering or contacting anything: for a program that wants to
   * end before it registers something.
   *
   * @param also findings from elsewhere than the arguments; told together with what is wrong with them.
   * @throws RunError with every finding, one per line as `field: what is wrong; why it matters; how to fix it`.
   */
  public static plan(args: GpuClusterArgs, also: Finding[] = []): CheckedPlan {
    if (!isMapping(args)) throw refusal(new InvalidStackError([...also, noArguments]).message);
    const { said } = splitCredentials(args);
    const { plan, findings, remarks } = judge(said);
    const found = [...also, ...findings, ...credentialFindings(args, plan?.spec, process.env)];
    if (!plan || found.length > 0) throw refusal(new InvalidStackError(found).message);
    return { ...plan, remarks };
  }
}
