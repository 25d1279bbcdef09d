import * as pulumi from "@pulumi/pulumi";
import type { ObjectKey } from "../../clients/kubernetes/api";
import { MANAGER } from "../../clients/kubernetes/manager";
import { hooksAreThere } from "../../pulumi/hooks";
import { leaderWorkerSet } from "../../recipe/facts/gpu-provider";
import type { FieldFinding } from "../../recipe/rules/finding";
import { renderFinding } from "../../recipe/stack/findings";
import { isRead } from "../pods";
import { type ClusterObjects, type LiveObject, OWNER, ownerText, sameStack } from "./live";
import { foreignSets } from "./leader-worker-set";
import { openCluster } from "./open";
import {
  keepsData,
  type Verdict,
  verdictOnMove,
  verdictOnObject,
  verdictOnRelease,
} from "./verdict";

/**
 * The annotation that names an object's owner, and the beginning (`valuePrefix`) of its value on objects of this stack. The
 * machine program recognizes the stack's objects by this annotation.
 */
export const stackMark = (): { annotation: string; valuePrefix: string } => ({
  annotation: OWNER,
  valuePrefix: `${stackName()}/`,
});

const stackName = (): string => `${pulumi.getProject()}/${pulumi.getStack()}`;

/** Pulumi type of a Helm release. Helm itself writes the records of a release, so they have no owner annotation. */
const RELEASE = "kubernetes:helm.sh/v3:Release";

/**
 * Transformation of every object that a stack creates in its cluster. It marks each object with its owner. Before
 * Pulumi creates an object, and before each operation on a Helm release, a hook checks the cluster. The hook deletes
 * objects that a killed update of this stack left, because Pulumi cannot create an object that exists. If an existing
 * object has another owner, the hook ends the update. It ends the preview too, if the update is sure to fail.
 *
 * @param takeOver Name of an external Helm release that the stack takes over. Default: none.
 * @param kubeconfig Kubeconfig of the cluster. If it is empty, because Pulumi finds the cluster by itself, the
 *   transformation marks objects and does not check them.
 */
export function guarded(
  name: string,
  kubeconfig: pulumi.Output<string>,
  takeOver?: string,
): pulumi.ResourceTransformation {
  const stack = stackName();
  /** Owner of each Helm release, by the name of its Pulumi resource, because a release has no owner annotation. */
  const owners = new Map<string, pulumi.Input<string>>();
  const hook = hooksAreThere("registerResourceHook")
    ? [guardHook(name, kubeconfig, owners, takeOver)]
    : [];
  return ({ type, name: resource, props, opts }) => {
    if (!type.startsWith("kubernetes:") || type.endsWith("Patch") || isRead(opts)) return undefined;
    const provider =
      (opts as pulumi.CustomResourceOptions).provider ?? opts.parent?.getProvider(type);
    const owner =
      provider === undefined
        ? ownerText(stack, resource, "default")
        : provider.id.apply((id) => ownerText(stack, resource, id));
    const isRelease = type === RELEASE;
    if (isRelease) owners.set(resource, owner);
    const ownMetadata = props.metadata as
      { annotations?: Record<string, pulumi.Input<string>> } | undefined;
    const annotations = {
      "pulumi.com/patchFieldManager": MANAGER,
      // Another manager may own a field by then, e.g. the replicas after `kubectl scale`. Without force, Pulumi's next
      // update of the object fails, and only after the machines' reboots.
      "pulumi.com/patchForce": "true",
      ...ownMetadata?.annotations,
      [OWNER]: owner,
    };
    const metadata = { ...ownMetadata, annotations };
    return {
      props: isRelease ? props : { ...props, metadata },
      opts: pulumi.mergeOptions(
        { ...opts, ...(keepsItsName(type, opts) ? { deleteBeforeReplace: true } : {}) },
        { hooks: { beforeCreate: hook, ...(isRelease ? { beforeUpdate: hook } : {}) } },
      ),
    };
  };
}

/**
 * Whether Pulumi must delete an object before it creates the replacement, because both have the same name. False for a
 * Job, because Pulumi generates a new name. False for a namespace, because a deletion of the namespace also deletes all
 * objects in it. False for a PersistentVolumeClaim: Pulumi then tries to create the replacement first, and the guard's
 * hook refuses that.
 */
const keepsItsName = (
  type: string,
  { deleteBeforeReplace }: pulumi.CustomResourceOptions,
): boolean =>
  deleteBeforeReplace === undefined && !/:(Job|Namespace|PersistentVolumeClaim)$/.test(type);

function guardHook(
  name: string,
  kubeconfig: pulumi.Output<string>,
  owners: ReadonlyMap<string, pulumi.Input<string>>,
  takeOver: string | undefined,
): pulumi.ResourceHook {
  const preview = pulumi.runtime.isDryRun();
  const cluster = untilItSucceeds(() => open(kubeconfig));
  return new pulumi.ResourceHook(
    `${name}-guard`,
    async ({ type, name: resource, newInputs = {}, oldInputs }) => {
      const objects = await cluster();
      if (objects === undefined) return;
      const guarding =
        type === RELEASE
          ? guardRelease(
              objects,
              newInputs,
              oldInputs === undefined,
              preview,
              takeOver,
              owners.get(resource),
            )
          : guardObject(objects, newInputs, preview);
      // Like Pulumi's provider, a preview goes on without its cluster.
      await guarding.catch((error: Error) => {
        if (!preview || error instanceof Refusal) throw error;
      });
    },
    { onDryRun: true },
  );
}

/** Runs a function once and shares its result with all callers; after a failure, the next caller runs it again. */
export function untilItSucceeds<T>(run: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  return () => {
    const attempt = (pending ??= run());
    attempt.catch(() => {
      if (pending === attempt) pending = undefined;
    });
    return attempt;
  };
}

/** The guard's client; undefined if the cluster does not exist yet, or if the stack has no kubeconfig. */
async function open(kubeconfig: pulumi.Output<string>): Promise<ClusterObjects | undefined> {
  const text = await valueOf(kubeconfig);
  return text === undefined || text === ""
    ? undefined
    : openCluster(text, !pulumi.runtime.isDryRun());
}

/** Value of an output; undefined if a preview does not know the value. */
async function valueOf(output: pulumi.Output<string>): Promise<string | undefined> {
  const { isKnown } = output as unknown as { isKnown: Promise<boolean> };
  return (await isKnown) ? new Promise((resolve) => output.apply(resolve)) : undefined;
}

/** Error about an object or release that ends the update, also at preview. */
class Refusal extends Error {
  constructor(finding: FieldFinding) {
    super(renderFinding(finding));
  }
}

async function guardObject(
  objects: ClusterObjects,
  inputs: Record<string, any>,
  preview: boolean,
): Promise<void> {
  const { apiVersion, kind, metadata } = inputs;
  const { name, namespace } = metadata ?? {};
  const owner = isKnown(metadata?.annotations?.[OWNER]) ? metadata.annotations[OWNER] : undefined;
  if (!isKnown(name) || (namespace !== undefined && !isKnown(namespace))) return;
  if (kind === "Job") {
    // Each Job has a new name: a lost one does not block the next, but occupies a card.
    if (owner === undefined || namespace === undefined || preview) return;
    for (const lost of await objects.ownedBy(owner, { apiVersion, kind }, namespace))
      await objects.remove(lost);
    return;
  }
  const key: ObjectKey = {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
  const verdict = verdictOnObject(await objects.read(key), owner, preview);
  for (const lost of objectsToTake<LiveObject>(verdict)) await objects.remove(lost);
  if (owner !== undefined && keepsData(key))
    objectsToTake(verdictOnMove(await objects.ownedBy(owner, key), key));
}

async function guardRelease(
  objects: ClusterObjects,
  inputs: Record<string, any>,
  creates: boolean,
  preview: boolean,
  takeOver: string | undefined,
  owner: pulumi.Input<string> | undefined,
): Promise<void> {
  const { name, namespace, chart, values } = inputs;
  if (!isKnown(name) || !isKnown(namespace)) return;
  const foreignFinding =
    creates &&
    String(chart).split("/").at(-1) === leaderWorkerSet.chart &&
    (await foreignSets(objects, { name, namespace }));
  if (foreignFinding) throw new Refusal(foreignFinding);
  const records = await objects.records(namespace, name);
  if (records.length === 0) return;
  const ownMark = owner === undefined ? undefined : await valueOf(pulumi.output(owner));
  const namespaceOwner = await objects.ownerOf({
    apiVersion: "v1",
    kind: "Namespace",
    name: namespace,
  });
  const namespaceIsOurs =
    ownMark !== undefined && namespaceOwner !== undefined && sameStack(namespaceOwner, ownMark);
  const step = {
    name,
    namespace,
    chart,
    values,
    creates,
    namespaceIsOurs,
    takesOver: name === takeOver,
  };
  for (const record of objectsToTake(verdictOnRelease(records, step, preview)))
    await objects.forget(namespace, record);
}

/** Whether an input is a known text, and not a placeholder of a preview. */
const isKnown = (value: unknown): value is string =>
  typeof value === "string" && value !== pulumi.runtime.unknownValue;

/**
 * The objects that must be deleted according to a verdict. Logs the verdict's message. Throws a Refusal if the verdict
 * refuses the operation.
 */
function objectsToTake<T>(verdict: Verdict<T>): T[] {
  if ("refuse" in verdict) throw new Refusal(verdict.refuse);
  if (verdict.message !== undefined) void pulumi.log.warn(verdict.message);
  return verdict.toDelete;
}
