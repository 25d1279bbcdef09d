import { randomBytes } from "node:crypto";
import { type CallContext, InitializationError, type Properties } from "../provider";
import { containsUnknown, secret } from "../values";
import { ApiError, isNotFound, type KubernetesObject } from "./api";
import { type Cluster, creator } from "./cluster";
import { waitForPlace } from "./place";
import { annotation, idOf, importable, objectOf, sameFields, title, type Token } from "./tokens";
import { defaultSeconds, waitUntilGone, waitUntilReady } from "./wait";

/** What is the same for every object of one provider resource. */
export interface ObjectSettings {
  readonly cluster: Cluster;
  /** Takes fields from other owners without being asked object by object. */
  readonly force: boolean;
}

const managerKey = "__fieldManager";

/** Applies a new object and waits for it; a patch applies to one that is there. */
export async function createObject(
  settings: ObjectSettings,
  token: Token,
  inputs: Properties,
  preview: boolean,
  seconds: number,
  context: CallContext,
): Promise<{ id: string; outputs: Properties }> {
  const { cluster } = settings;
  const manager = managerOf(inputs, {});
  const object = await placed(cluster, objectOf(token, inputs), context, preview);
  if (!object) return { id: "", outputs: inputs };
  const force = settings.force || annotation(inputs, "pulumi.com/patchForce") === "true" || preview;
  const made = token.patch
    ? apply(cluster, object, { fieldManager: manager, force, dryRun: preview }, context)
    : create(cluster, object, preview, context);
  const applied = await made.catch((error: unknown) => {
    // its namespace or kind comes with the same update, or it goes before; and who may not write may still look (provider.go, Create)
    if (preview && error instanceof ApiError && [403, 404, 409].includes(error.code)) return undefined;
    throw error;
  });
  if (!applied) return { id: "", outputs: inputs };
  if (preview) return { id: "", outputs: outputsOf({ ...applied, status: undefined }, manager) };
  return { id: idOf(applied), outputs: await ready(settings, inputs, applied, false, manager, seconds, context) };
}

/** Applies the new inputs to an object of ours and waits for it. */
export async function updateObject(
  settings: ObjectSettings,
  token: Token,
  olds: Properties,
  inputs: Properties,
  preview: boolean,
  seconds: number,
  context: CallContext,
): Promise<{ outputs: Properties }> {
  const { cluster } = settings;
  const manager = managerOf(inputs, olds);
  const object = await placed(cluster, objectOf(token, inputs), context, preview);
  if (!object) return { outputs: inputs };
  const live = await cluster.get(object, context.signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new Error(`${title(object)}: it is gone from the cluster; run the update with --refresh to create it again`);
  });
  const handing = { fieldManager: manager, dryRun: preview, signal: context.signal };
  const handed = !token.patch && (await cluster.handOver({ ...object, metadata: live.metadata! }, handing));
  // A preview hands nothing over, and forces its way instead (await.go, patchForce).
  const force = settings.force || annotation(inputs, "pulumi.com/patchForce") === "true" || (preview && handed);
  const applied = await apply(cluster, object, { fieldManager: manager, force, dryRun: preview }, context);
  if (preview) return { outputs: outputsOf(applied, manager) };
  // provider.go, Update: the manager of before gives up what it held.
  const before = managerOf({}, olds);
  if (before !== manager) await release(cluster, object, before, context);
  return { outputs: await ready(settings, inputs, applied, true, manager, seconds, context) };
}

/** Kinds whose end nobody waits for with `pulumi.com/skipAwait` (metadata/overrides.go, allowsSkipAwaitWithDelete). */
const goesUnseen = ["Namespace", "Pod", "ReplicationController", "DaemonSet", "Deployment", "StatefulSet", "Job"];

/** Deletes an object and waits until it is gone; a patch gives up its fields and leaves the object. */
export async function deleteObject(
  { cluster }: ObjectSettings,
  token: Token,
  state: Properties,
  seconds: number,
  context: CallContext,
): Promise<void> {
  const object = objectOf(token, state);
  try {
    if (token.patch) return await release(cluster, object, managerOf({}, state), context);
    const propagation = annotation(state, "pulumi.com/deletionPropagationPolicy");
    if (!(await cluster.delete(object, propagation, context.signal))) return;
    if (annotation(context.oldInputs, "pulumi.com/skipAwait") === "true" && goesUnseen.includes(token.kind)) return;
    await waitUntilGone(cluster, object, seconds || defaultSeconds, context.signal);
  } catch (error) {
    if (!isNotFound(error)) throw error; // with its kind's definition, its objects are gone too
  }
}

/** Reads an object; null when it is gone. Inputs are the live values of the fields that the program sets. */
export async function readObject(
  { cluster }: ObjectSettings,
  token: Token,
  id: string,
  state: Properties,
  context: CallContext,
): Promise<{ id: string; inputs: Properties; outputs: Properties } | null> {
  const [name, namespace] = id.split("/").reverse();
  const object = {
    apiVersion: token.apiVersion,
    kind: token.kind,
    metadata: { name, ...(namespace && { namespace }) },
  };
  try {
    const live = await cluster.get(object as KubernetesObject, context.signal);
    const outputs = outputsOf({ ...live, apiVersion: token.apiVersion, kind: token.kind }, managerOf({}, state));
    const known = Object.keys(context.oldInputs).length > 0;
    return { id, inputs: known ? (sameFields(context.oldInputs, live) as Properties) : importable(live), outputs };
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

async function ready(
  { cluster }: ObjectSettings,
  inputs: Properties,
  applied: KubernetesObject,
  existed: boolean,
  manager: string,
  seconds: number,
  context: CallContext,
): Promise<Properties> {
  const { object, reasons } = await waitUntilReady(cluster, inputs, applied, {
    seconds: seconds || defaultSeconds,
    existed,
    context,
  }).catch((error: Error) => ({ object: applied, reasons: [error.message] }));
  if (reasons.length === 0) return outputsOf(object, manager);
  const done = existed ? "updated" : "created";
  const message = `${title(object)} was ${done}, but did not become ready:\n  ${reasons.join("\n  ")}`;
  throw new InitializationError(message, idOf(object), outputsOf(object, manager), [message]);
}

/** The object with its namespace; undefined at a preview that cannot be asked of the API server. */
async function placed(
  cluster: Cluster,
  object: KubernetesObject,
  context: CallContext,
  preview: boolean,
): Promise<KubernetesObject | undefined> {
  if (preview && containsUnknown(object)) return undefined;
  try {
    const namespaced = preview
      ? await cluster.namespaced(object)
      : await waitForPlace(cluster, object, context).then(() => cluster.namespaced(object));
    if (!namespaced) return object;
    const namespace = object.metadata?.namespace || cluster.access.namespace;
    return { ...object, metadata: { ...object.metadata, namespace } };
  } catch (error) {
    if (preview && isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * A create is a POST, which the API server refuses where the object is there: nothing is adopted. One manager writes it for all
 * objects, whatever their annotation says (pulumi-kubernetes v4.32.0, provider/pkg/await/await.go, Creation).
 */
async function create(
  cluster: Cluster,
  object: KubernetesObject,
  dryRun: boolean,
  context: CallContext,
): Promise<KubernetesObject> {
  const options = { fieldManager: creator, dryRun, signal: context.signal };
  return answered(cluster.create(object, options), context, ({ reason, message }) =>
    reason === "AlreadyExists"
      ? `resource "${context.urn}" was not successfully created by the Kubernetes API server: ${message}`
      : `${title(object)}: ${message}`,
  );
}

async function apply(
  cluster: Cluster,
  object: KubernetesObject,
  options: { fieldManager: string; force: boolean; dryRun: boolean },
  context: CallContext,
): Promise<KubernetesObject> {
  return answered(cluster.apply(object, { ...options, signal: context.signal }), context, ({ reason, message }) => {
    const advice = `; another manager owns these fields: leave them out, or take them with the annotation pulumi.com/patchForce`;
    return `${title(object)}: ${message}${reason === "Conflict" ? advice : ""}`;
  });
}

/** The object of an answer, whose warnings are passed on; what the API server refuses is told in these words. */
async function answered(
  answer: ReturnType<Cluster["apply"]>,
  context: CallContext,
  said: (error: ApiError) => string,
): Promise<KubernetesObject> {
  try {
    const { object, warnings } = await answer;
    for (const warning of warnings) context.log("warning", warning);
    return object;
  } catch (error) {
    throw error instanceof ApiError ? new ApiError(error.code, error.reason, said(error)) : error;
  }
}

/**
 * An apply of nothing gives up every field of the manager; the rest of the object stays as it is. Nobody looks whether the object is
 * there: one that is gone is made by it, with a name and nothing else (ssa/actions.go, Relinquish).
 */
async function release(
  cluster: Cluster,
  object: KubernetesObject,
  fieldManager: string,
  context: CallContext,
): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const identity = { name: metadata?.name, ...(metadata?.namespace && { namespace: metadata.namespace }) };
  const empty = { apiVersion, kind, metadata: identity } as KubernetesObject;
  await cluster.apply(empty, { fieldManager, force: false, dryRun: false, signal: context.signal });
}

/** One manager per resource, random as the real provider's and kept in the state (provider.go, fieldManagerName). */
function managerOf(inputs: Properties, state: Properties): string {
  const named = annotation(inputs, "pulumi.com/patchFieldManager") ?? state[managerKey];
  return typeof named === "string" ? named : `pulumi-kubernetes-${randomBytes(4).toString("hex")}`;
}

function outputsOf(object: KubernetesObject, manager: string): Properties {
  const outputs = { ...object, __initialApiVersion: object.apiVersion, [managerKey]: manager };
  if (object.kind !== "Secret" || object["data"] === undefined) return outputs;
  return { ...outputs, data: secret(object["data"]) };
}
