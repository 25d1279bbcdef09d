import * as pulumi from "@pulumi/pulumi";
import { noArguments, refusal } from "./pulumi/checked-arguments";
import { gpuExposure } from "./cluster/exposure";
import { makeFleet } from "./cluster/gpu-machines";
import { pullKubernetesImages } from "./cluster/kubernetes-images";
import { preflight } from "./cluster/preflight";
import { talosProvider, warnOfProvider } from "./cluster/providers";
import { warnIfClusterUnreachable } from "./cluster/unseen";
import { UpdateSummary } from "./cluster/update-summary";
import { accessOf } from "./credentials/access";
import { splitCredentials, type Credentials, credentialFindings } from "./credentials/credentials";
import { withExternal } from "./lookups/external-files";
import { withAway } from "./lookups/machines-away";
import { askFactory, type AskedStack } from "./lookups/release-facts";
import { withExistingRuntimeClass } from "./lookups/runtime-class-there";
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

/**
 * Arguments of a GPU cluster: its credentials, and its wanted state. The wanted state is plain data, because the checks
 * read it at preview.
 */
export interface GpuClusterArgs extends StackSpec, Credentials {}

/**
 * A Talos cluster with NVIDIA cards. The component manages each machine's image, configuration, Talos upgrades, and
 * node labels and taints. It also manages the GPU provider in Kubernetes, a smoke test on every GPU machine, and the
 * workloads. Resources that use the outputs `runtimeClassName` or `gpuResourceName` wait until the smoke tests have
 * ended. Pass the Kubernetes provider in the options. A stack that bootstraps its cluster needs no provider: the output
 * `kubeconfig` gives access to the cluster.
 *
 * A destroy removes the objects in Kubernetes. It does not wipe or downgrade machines. After a destroy, Omni installs
 * the earlier image on its machines again. Other machines keep their image. They also keep the entries for NVIDIA's
 * kernel modules in their configuration, because the image cannot boot without these entries.
 *
 * The preview checks the stack before it registers any resource. If the stack has mistakes, the preview fails with an
 * error that lists all of them.
 */
export class GpuCluster extends pulumi.ComponentResource {
  /**
   * Talos release, schematic and driver of each machine, by node name. Resolves once the update of every machine is
   * complete.
   */
  public readonly machines: pulumi.Output<Record<string, MachineReport>>;
  /**
   * True if the smoke test has passed on every GPU machine. False if the update could not test a machine because other
   * pods use all its GPUs, or because the machine is away (`mayBeAway`).
   */
  public readonly gpuReady: pulumi.Output<boolean>;
  /**
   * RuntimeClass for pods that need a GPU, e.g. `nvidia`; empty if pods claim GPUs. Resolves only after the smoke
   * tests.
   */
  public readonly runtimeClassName: pulumi.Output<string>;
  /**
   * Name of the resource that pods request, e.g. `nvidia.com/gpu`; with `dra`, name of the DeviceClass that they claim,
   * e.g. `gpu.nvidia.com`. The name of a resource contains a `/`, and the name of a DeviceClass does not. Resolves only
   * after the smoke tests.
   */
  public readonly gpuResourceName: pulumi.Output<string>;
  /**
   * Labels of the nodes with GPUs, for the node selectors of charts, e.g. `{ "nvidia.com/gpu.present": "true" }`.
   * Resolves only after the smoke tests.
   */
  public readonly gpuNodeSelector: pulumi.Output<Record<string, string>>;
  /**
   * URLs within the cluster. The key is the workload (`ollama`, `comfyui`, `vllm`, `litellm` or the name of a server).
   * An inactive workload has no URL. A URL resolves once its server is ready.
   */
  public readonly endpoints: pulumi.Output<Record<string, string>>;

  /**
   * Talos client configuration (secret). A stack with `bootstrap` creates it; otherwise it is the argument's value, or
   * empty.
   */
  public readonly talosconfig: pulumi.Output<string>;
  /**
   * Secrets of the cluster, as `talosctl gen secrets` writes them (secret). A stack with `bootstrap` creates them;
   * otherwise they are the argument's value, or empty. If the stack created them, they exist only in the stack's state:
   * save them before you destroy the stack.
   */
  public readonly machineSecrets: pulumi.Output<string>;
  /**
   * Kubeconfig of an administrator (secret). A stack with `bootstrap` fetches it; otherwise it is the argument's value,
   * or empty. The package drains machines and reads objects with it, and creates objects through the Kubernetes provider of
   * the options.
   */
  public readonly kubeconfig: pulumi.Output<string>;

  constructor(name: string, args: GpuClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    const plan = GpuCluster.plan(args);
    const nodes = plan.machines.map((machine) => machine.name);
    const summary = new UpdateSummary(name, nodes);
    // The components of the machines have these inputs; here they would appear twice in a preview.
    const { machines: _, ...cluster } = plan.spec;
    const seeing = plan.spec.bootstrap
      ? <T>(same: T): T => same
      : warnIfClusterUnreachable(name, args.kubeconfig);
    const watched = seeing(summary.watching(opts));
    super("talos-gpu:index:GpuCluster", name, cluster, watched);
    const child = { parent: this };
    const registering = withoutStackTracesUnless(transformsMore(this, watched, opts));
    showRemarks(this, plan.remarks);

    const access = accessOf(
      clusterCredentials(name, plan, splitCredentials(args).credentials, child),
    );
    const { secrets } = access;
    if (!plan.spec.bootstrap) warnOfProvider(this, secrets.kubeconfig);
    const ofTalos = pulumi.runtime.isDryRun() ? talosProvider(this) : undefined;
    if (ofTalos !== undefined) void pulumi.log.info(ofTalos, this);
    // Other machines have an image from Omni, or the user's own.
    const imaged = plan.machines.filter(
      ({ configuration, ownImage }) => configuration !== "omni" && !ownImage,
    );
    const schematics = registerSchematics(name, imaged, child);
    const preflightResource = preflight(name, plan, secrets, schematics, seeing(child));
    const exposure = gpuExposure(name, plan, secrets, { ...child, dependsOn: preflightResource });
    const images = pullKubernetesImages(name, plan, secrets, { ...child, dependsOn: exposure });
    const fleet = registering(() =>
      makeFleet(name, plan, { access, schematics, after: images ?? exposure }, child),
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
    this.endpoints = gpuWorkloads(
      name,
      plan,
      gpus,
      fleet.stages.dependsOn,
      working.with(inCluster),
    );
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
   * Adds facts from the cluster, the Image Factory and the files of `external` to the arguments. Await this function
   * before you call `plan` and the constructor, if your program can wait for a promise. The function never throws. If
   * the Factory does not answer, it returns after at most half a minute. It adds:
   *
   * - the content of the files of `external`;
   * - whether the cluster's RuntimeClass `nvidia` is external, if the stack installs a device plugin;
   * - the names of the offline machines among those with `mayBeAway`;
   * - drivers and extensions from the Image Factory, for each Talos release of the stack that the package's tables
   *   lack. Without these facts the package assumes the driver versions of such a release.
   */
  public static async withFacts<T extends AskedStack>(args: T): Promise<T> {
    const [facts, hasMachines, away] = await Promise.all([
      askFactory(args),
      withExistingRuntimeClass(args),
      withAway(args),
    ]);
    return { ...args, ...withExternal(args), ...hasMachines, ...away, ...facts };
  }

  /**
   * The plan of a cluster with these arguments. This function registers no resource and contacts no server, so a
   * program can check its arguments first.
   *
   * @param otherFindings findings that do not come from the arguments; the error lists them together with those of the
   * arguments.
   * @throws RunError with every finding, one per line as `field: what is wrong; why it matters; how to fix it`.
   */
  public static plan(args: GpuClusterArgs, otherFindings: Finding[] = []): CheckedPlan {
    if (!isMapping(args))
      throw refusal(new InvalidStackError([...otherFindings, noArguments]).message);
    const { otherArgs } = splitCredentials(args);
    const { plan, findings, remarks } = judge(otherArgs);
    const allFindings = [
      ...otherFindings,
      ...findings,
      ...credentialFindings(args, plan?.spec, process.env),
    ];
    if (!plan || allFindings.length > 0) throw refusal(new InvalidStackError(allFindings).message);
    return { ...plan, remarks };
  }
}
