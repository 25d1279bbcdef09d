import { randomBytes } from "node:crypto";
import { type CallContext, InitializationError, type Properties } from "../provider";
import { containsUnknown, secret } from "../values";
import { ApiError, isNotFound, type KubernetesObject } from "./api";
import type { Cluster } from "./cluster";
import { waitForPlace } from "./place";
import { annotation, idOf, objectOf, title, type Token } from "./tokens";
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
  if (!token.patch && (await exists(cluster, object, context))) {
    if (preview) return { id: "", outputs: inputs };
    // A create is a POST, which the API server refuses; nothing is adopted (pulumi-kubernetes v4.32.0,
    // provider/pkg/await/await.go, Creation), and a preview says nothing of it (provider.go, Create, failedPreview).
    throw new Error(
      `resource "${context.urn}" was not successfully created by the Kubernetes API server: ` +
        `${await cluster.resourceOf(object)} "${object.metadata?.name}" already exists`,
    );
  }
  const force = settings.force || annotation(inputs, "pulumi.com/patchForce") === "true" || preview;
  const applied = await apply(cluster, object, { fieldManager: manager, force, dryRun: preview }, context).catch(
    (error: unknown) => {
      // its namespace or kind comes with the same update; and who may not write may still look (provider.go, Create)
      if (preview && error instanceof ApiError && [403, 404].includes(error.code)) return undefined;
      throw error;
    },
  );
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
  await cluster.get(object, context.signal).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new Error(`${title(object)}: it is gone from the cluster; run the update with --refresh to create it again`);
  });
  const force = settings.force || annotation(inputs, "pulumi.com/patchForce") === "true";
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

async function exists(cluster: Cluster, object: KubernetesObject, context: CallContext): Promise<boolean> {
  return cluster.get(object, context.signal).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );
}

async function apply(
  cluster: Cluster,
  object: KubernetesObject,
  options: { fieldManager: string; force: boolean; dryRun: boolean },
  context: CallContext,
): Promise<KubernetesObject> {
  try {
    const { object: applied, warnings } = await cluster.apply(object, { ...options, signal: context.signal });
    for (const warning of warnings) context.log("warning", warning);
    return applied;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const advice =
      error.code === 409 && error.reason === "Conflict"
        ? `; another manager owns these fields: leave them out, or take them with the annotation pulumi.com/patchForce`
        : "";
    throw new ApiError(error.code, error.reason, `${title(object)}: ${error.message}${advice}`);
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

/** The live values of the fields that `inputs` has, so that a refresh shows drift and not defaults. */
function sameFields(inputs: unknown, live: unknown): unknown {
  if (typeof inputs !== "object" || inputs === null || typeof live !== "object" || live === null) return live;
  if (Array.isArray(inputs) || Array.isArray(live)) {
    if (!Array.isArray(inputs) || !Array.isArray(live) || inputs.length !== live.length) return live;
    return live.map((item, index) => sameFields(inputs[index], item));
  }
  const at = live as Properties;
  return Object.fromEntries(
    Object.entries(inputs)
      .map(([key, value]) => [key, key.startsWith("__") ? value : sameFields(value, at[key])] as const)
      .filter(([, value]) => value !== undefined),
  );
}

const serverFields = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];

function importable({ status: _status, ...live }: KubernetesObject): Properties {
  const metadata = Object.entries(live.metadata ?? {}).filter(([key]) => !serverFields.includes(key));
  return { ...live, metadata: Object.fromEntries(metadata) };
}
