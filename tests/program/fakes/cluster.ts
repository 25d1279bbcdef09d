import type { KubernetesObject } from "@kubernetes/client-node";
import { CallError } from "../../../components/clients/failure";
import { kubeletRelease } from "../../../components/clients/talos/configuration-text";
import type {
  AskedNode,
  NodeState,
  PodState,
  WantedObject,
} from "../../../components/program/cluster/cluster";
import type { ReportedPods, WebhookService } from "../../../components/program/cluster/webhooks";
import type { NodeCluster } from "../../../components/program/upgrade/run";
import { defined } from "../../../components/recipe/mapping";
import type { FakeClock } from "./clock";
import type { FakeMachine } from "./machine";

/** A node that is ready and schedulable, with some fields replaced. */
export const nodeState = (fields: Partial<NodeState> = {}): NodeState => ({
  unschedulable: false,
  annotations: {},
  ready: true,
  unready: "",
  kubelet: "",
  allocatable: {},
  ...fields,
});

/** A service of an admission webhook with one endpoint, a pod of another node. */
export const webhookService = (
  ready: boolean,
  endpoint: Partial<WebhookService["endpoints"][number]> = {},
): WebhookService => ({
  namespace: "policies",
  name: "kyverno",
  endpoints: [{ ready, addresses: ["10.244.0.9"], node: "other", pod: "1", ...endpoint }],
});

/** Kubernetes in memory, with one node. */
export class FakeCluster implements NodeCluster {
  state: NodeState | undefined = nodeState();
  podList: PodState[] = [];
  /** Volumes attached to the node; undefined if they cannot be read. */
  volumes: string[] | undefined = [];
  /** Kubernetes' reason to refuse an eviction, by pod name. */
  readonly evictionRefusals: Record<string, string> = {};
  readonly calls: string[] = [];
  afterCall: (call: string) => void = () => {};
  unreachable = false;
  /**
   * Whether the machine is the one that serves the Kubernetes API, so that the API answers only while the machine
   * runs.
   */
  servedByMachine = false;
  /** Error with which an eviction fails, by pod name. */
  readonly evictionErrors: Record<string, CallError> = {};
  isOnlyNode = false;
  /** Services of admission webhooks. */
  webhooks: WebhookService[] = [];
  /** Error with which the question for admission webhooks fails. */
  webhookError: CallError | undefined;
  /** What the node's kubelet last reported. */
  reported: ReportedPods = {};
  /** Objects of addons, by name. */
  readonly addonObjects = new Map<string, KubernetesObject & { status?: object }>();
  /** Seconds until the pods of an applied addon run; undefined if they never run. */
  secondsUntilAddonsRun: number | undefined = 20;
  /** Number of the next reads of an addon's object that get no answer. */
  unansweredReads = 0;
  /** Error with which the apply of an addon's object fails. */
  applyError: CallError | undefined;
  /** New pods of an applied addon that run, of two. */
  runningAddonPods = 2;
  /** The answer to a list of all nodes. */
  nodes: () => Promise<AskedNode[]> = () => Promise.resolve([]);

  constructor(
    private readonly clock: FakeClock,
    private readonly machine: FakeMachine,
  ) {}

  async node(): Promise<NodeState | undefined> {
    this.assertItAnswers();
    const { configurationOfStaticPods, active } = this.machine;
    return (
      this.state && {
        ...this.state,
        ready: this.state.ready && this.machineRuns(),
        kubelet: this.state.kubelet || (kubeletRelease(configurationOfStaticPods ?? active) ?? ""),
      }
    );
  }
  private machineRuns(): boolean {
    return !this.machine.isDown && this.machine.stageName === "running";
  }
  private assertItAnswers(): void {
    if (this.unreachable || (this.servedByMachine && !this.machineRuns()))
      throw new CallError("unreachable", "Kubernetes: no answer");
  }
  async isAlone(): Promise<boolean> {
    return this.isOnlyNode;
  }
  async cordon(_name: string, annotation: string, value: string): Promise<void> {
    this.state = {
      ...this.state!,
      unschedulable: true,
      annotations: { ...this.state!.annotations, [annotation]: value },
    };
    this.recordCall("cordon");
  }
  async uncordon(_name: string, annotation: string): Promise<void> {
    const { [annotation]: _removed, ...annotations } = this.state!.annotations;
    this.state = { ...this.state!, unschedulable: false, annotations };
    this.recordCall("uncordon");
  }
  async removeAnnotation(_name: string, annotation: string): Promise<void> {
    const { [annotation]: _removed, ...annotations } = this.state!.annotations;
    this.state = { ...this.state!, annotations };
    this.recordCall("removeAnnotation");
  }
  async read({ metadata: { name } }: WantedObject): Promise<KubernetesObject | undefined> {
    if (this.unansweredReads-- > 0) throw new CallError("unreachable", "Kubernetes: no answer");
    return this.addonObjects.get(name);
  }
  async apply(object: WantedObject, manager: string): Promise<KubernetesObject> {
    if (this.applyError !== undefined) throw this.applyError;
    const { name, namespace, annotations } = object.metadata;
    const generation = (this.addonObjects.get(name)?.metadata?.generation ?? 1) + 1;
    const metadata = {
      name,
      ...defined({ namespace, annotations: annotations as Record<string, string> | undefined }),
      generation,
    };
    const applied: KubernetesObject = { ...object, metadata };
    this.addonObjects.set(name, { ...applied, status: { observedGeneration: generation - 1 } });
    if (this.secondsUntilAddonsRun !== undefined)
      this.clock.after(this.secondsUntilAddonsRun, () => {
        const status = { observedGeneration: generation, ...this.podCounts() };
        this.addonObjects.set(name, { ...applied, status });
      });
    this.recordCall(`apply ${object.kind} ${name} by ${manager}`);
    return applied;
  }
  async webhookServices(): Promise<WebhookService[]> {
    this.assertItAnswers();
    if (this.webhookError !== undefined) throw this.webhookError;
    return this.webhooks;
  }
  async reportedPods(): Promise<ReportedPods> {
    this.assertItAnswers();
    return this.reported;
  }
  async attachedVolumes(): Promise<string[] | undefined> {
    return this.volumes;
  }
  async pods(): Promise<PodState[]> {
    return this.podList;
  }
  async evict(pod: PodState): Promise<{ refused?: string }> {
    const failure = this.evictionErrors[pod.name];
    if (failure !== undefined) throw failure;
    const refused = this.evictionRefusals[pod.name];
    if (refused !== undefined) return { refused };
    this.podList = this.podList.map((podState) =>
      podState.uid === pod.uid ? { ...podState, terminating: true } : podState,
    );
    if (this.state?.ready)
      // a running kubelet reports that the pod has ended
      this.clock.after(
        10,
        () => (this.podList = this.podList.filter(({ uid }) => uid !== pod.uid)),
      );
    this.recordCall(`evict ${pod.name}`);
    return {};
  }

  /** Pods of a DaemonSet or Deployment that wants two. */
  private podCounts(): object {
    const running = this.runningAddonPods;
    return {
      replicas: 2,
      desiredNumberScheduled: 2,
      updatedNumberScheduled: running,
      updatedReplicas: running,
      numberAvailable: running,
      availableReplicas: running,
    };
  }

  private recordCall(call: string): void {
    this.calls.push(call);
    this.afterCall(call.split(" ")[0]!);
  }
}

export function pod(name: string, fields: Partial<PodState> = {}): PodState {
  return {
    namespace: "default",
    name,
    uid: `uid-${name}`,
    controller: undefined,
    grace: undefined,
    finalizers: [],
    mirror: false,
    finished: false,
    terminating: false,
    localStorage: false,
    gpus: 0,
    ...fields,
  };
}
