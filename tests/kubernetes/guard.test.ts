import { guarded, untilItSucceeds } from "../../components/kubernetes/guard";
import {
  type LiveObject,
  OWNER,
  ownerText,
  type ReleaseRecord,
  sameStack,
} from "../../components/kubernetes/guard/live";
import type { ObjectKey } from "../../components/clients/kubernetes/api";
import { foreignSets } from "../../components/kubernetes/guard/leader-worker-set";
import {
  type Verdict,
  verdictOnMove,
  verdictOnObject,
  verdictOnRelease,
} from "../../components/kubernetes/guard/verdict";
import { renderFinding } from "../../components/recipe";
import * as pulumi from "@pulumi/pulumi";
import * as k8s from "@pulumi/kubernetes";
import { record } from "../support/recorder";

const ownMark = ownerText("shop/prod", "gpu-namespace", "6f1c");
const liveObject = (changes: Partial<LiveObject> = {}): LiveObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  name: "gpu-operator",
  uid: "1",
  owner: undefined,
  holds: [],
  ...changes,
});

/** The text of a refusal; empty if nothing is refused. */
const refusalOf = (verdict: Verdict<unknown>): string =>
  "refuse" in verdict ? renderFinding(verdict.refuse) : "";

/** An object that Pulumi is about to create, and the guard's decision. */
interface GuardCase {
  name: string;
  /**
   * The object in the cluster, as the fields that differ from a namespace gpu-operator without an owner mark.
   * Default: none.
   */
  live?: Partial<LiveObject>;
  /** Set if the stack has no state yet, so it has no owner mark of its own. */
  withoutState?: true;
  preview?: true;
  /** Pulumi creates the object, or first deletes the live one. Patterns belong to a refusal. */
  verdict: "create" | "delete first" | RegExp | RegExp[];
}

const claim = { kind: "PersistentVolumeClaim", owner: ownMark };
// Pulumi would delete the new claim by its name, and a pod may have bound it by then.
const emptyClaim = [
  /would be replaced \(because of a changed storageClass or --replace\).*; if an update was killed, import .* Otherwise remove the workload .* for one update, /,
  /then add it again with the `storageClass` that you want\. Nothing is lost, because the claim has no volume yet$/,
];
const creations: GuardCase[] = [
  { name: "creates an object that does not exist", verdict: "create" },
  {
    name: "first deletes the stack's object that a killed update left out of the state",
    live: { owner: ownMark },
    verdict: "delete first",
  },
  {
    name: "at preview accepts the stack's object that the state lacks",
    live: { owner: ownMark },
    preview: true,
    verdict: "create",
  },
  {
    name: "refuses to replace a namespace that contains a pod",
    live: { owner: ownMark, holds: ["Pod x"] },
    verdict: /contains Pod x/,
  },
  {
    name: "at preview refuses to replace a namespace that contains a pod",
    live: { owner: ownMark, holds: ["Pod x"] },
    preview: true,
    verdict: /--replace.*contains Pod x/,
  },
  {
    name: "at preview refuses to replace a claim with a volume",
    live: { ...claim, holds: ["volume v"] },
    preview: true,
    verdict:
      /would be replaced \(because of a changed storageClass or --replace\).*contains volume v.*set storageClass to its former value/,
  },
  { name: "refuses to replace a claim that never got a volume", live: claim, verdict: emptyClaim },
  {
    name: "at preview refuses to replace a claim that never got a volume",
    live: claim,
    preview: true,
    verdict: emptyClaim,
  },
  {
    name: "at preview accepts the replacement of an object whose kind keeps no data",
    live: { kind: "ConfigMap", owner: ownMark, holds: ["x"] },
    preview: true,
    verdict: "create",
  },
  {
    name: "refuses an object of another stack",
    live: { owner: ownerText("shop/test", "gpu-namespace", "77") },
    verdict: /shop\/test/,
  },
  {
    name: "at preview refuses an object of another stack if this stack has no state yet",
    live: { owner: ownerText("shop/test", "ns", "77") },
    withoutState: true,
    preview: true,
    verdict: /already exists, and was created by /,
  },
  {
    name: "at preview proposes to undo a rename of the stack",
    live: { owner: ownerText("shop/test", "gpu-namespace", "6f1c") },
    preview: true,
    verdict: [
      /already exists, and was created by shop\/test\/gpu-namespace; .*\. If you renamed the stack from test, /,
      /\. If you renamed the stack from test, rename it back: pulumi stack rename test$/,
    ],
  },
  {
    name: "at preview proposes an alias for an object of another project",
    live: { owner: ownerText("home/test", "gpu-namespace", "77") },
    preview: true,
    verdict: /If you renamed the resource, give it an alias$/,
  },
  {
    name: "refuses an object of a stack with the same name and another state",
    live: { owner: ownerText("shop/prod", "gpu-namespace", "0") },
    verdict: /already exists, and was created by /,
  },
  {
    name: "proposes an alias for an object of another resource of the stack",
    live: { owner: ownerText("shop/prod", "x", "6f1c") },
    verdict: /alias/,
  },
  {
    name: "at preview refuses a namespace without an owner mark",
    live: {},
    preview: true,
    verdict: /does not belong to this stack/,
  },
  // The update that creates the stack's RuntimeClass also removes the operator's.
  {
    name: "at preview accepts a RuntimeClass without an owner mark, which the update may remove",
    live: { kind: "RuntimeClass", name: "nvidia" },
    preview: true,
    verdict: "create",
  },
  {
    name: "refuses a RuntimeClass without an owner mark",
    live: { kind: "RuntimeClass", name: "nvidia" },
    verdict: /does not belong to this stack/,
  },
];

test.each(creations)("the guard $name", ({ live: liveFields, withoutState, preview, verdict }) => {
  const existingObject = liveFields && liveObject(liveFields);
  const decision = verdictOnObject(
    existingObject,
    withoutState ? undefined : ownMark,
    preview ?? false,
  );
  if (verdict === "create") expect(decision).toMatchObject({ toDelete: [] });
  else if (verdict === "delete first")
    expect(decision).toMatchObject({ toDelete: [existingObject] });
  else for (const pattern of [verdict].flat()) expect(refusalOf(decision)).toMatch(pattern);
});

describe("the former object of a resource that moves to another namespace", () => {
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    name: "ollama-models",
    namespace: "ai",
  };
  const formerClaim = liveObject({
    ...claim,
    namespace: "ollama",
    owner: ownMark,
    holds: ["volume v"],
  });
  const namespace = liveObject({
    name: "ollama",
    owner: ownMark,
    holds: ["Pod x", "PersistentVolumeClaim y"],
  });

  test("may not be deleted if it is a claim with a volume, or a namespace with a claim", () => {
    const expectedRefusal =
      /^PersistentVolumeClaim ollama\/ollama-models: contains volume v, and would be deleted once .*ai\/ollama-models exists; /;
    expect(refusalOf(verdictOnMove([formerClaim], claim))).toMatch(expectedRefusal);
    expect(refusalOf(verdictOnMove([namespace], liveObject({ name: "ai" })))).toMatch(
      /^Namespace ollama: contains PersistentVolumeClaim y, and .*set the namespace to its former value/,
    );
  });

  test("may be deleted if it holds no data", () => {
    expect(verdictOnMove([liveObject({ ...formerClaim, holds: [] })], claim)).toEqual({
      toDelete: [],
    });
    expect(
      verdictOnMove(
        [liveObject({ name: "gpus", owner: ownMark, holds: ["Pod x"] })],
        liveObject({ name: "ai" }),
      ),
    ).toEqual({
      toDelete: [],
    });
  });

  test("is not mistaken for the new object, which may hold data", () => {
    expect(verdictOnMove([liveObject({ ...formerClaim, namespace: "ai" })], claim)).toEqual({
      toDelete: [],
    });
  });
});

describe("a Helm release", () => {
  const releaseRecord = (
    status: string,
    revision = 1,
    changes: Partial<ReleaseRecord> = {},
  ): ReleaseRecord => ({
    name: `sh.helm.release.v1.gpu-operator.v${revision}`,
    uid: String(revision),
    revision,
    status,
    chart: "gpu-operator",
    values: { driver: { enabled: false } },
    ...changes,
  });
  const releaseStep = {
    name: "gpu-operator",
    namespace: "gpu-operator",
    chart: "gpu-operator",
    values: { driver: { enabled: false } },
    creates: true,
    namespaceIsOurs: false,
    takesOver: false,
  };
  const revisionsToDelete = (verdict: ReturnType<typeof verdictOnRelease>): number[] | string =>
    "refuse" in verdict ? refusalOf(verdict) : verdict.toDelete.map(({ revision }) => revision);

  test("loses no record if it is deployed, or if it has none", () => {
    expect(revisionsToDelete(verdictOnRelease([], releaseStep, false))).toEqual([]);
    expect(
      revisionsToDelete(
        verdictOnRelease([releaseRecord("deployed")], { ...releaseStep, creates: false }, false),
      ),
    ).toEqual([]);
  });

  test("whose installation was killed loses its record, but not at preview", () => {
    expect(
      revisionsToDelete(verdictOnRelease([releaseRecord("pending-install")], releaseStep, false)),
    ).toEqual([1]);
    expect(
      revisionsToDelete(verdictOnRelease([releaseRecord("pending-install")], releaseStep, true)),
    ).toEqual([]);
  });

  test("whose installation was killed counts as the stack's despite other values only if its namespace is the stack's", () => {
    const changedStep = { ...releaseStep, values: { driver: { enabled: true } } };
    expect(
      revisionsToDelete(verdictOnRelease([releaseRecord("pending-install")], changedStep, false)),
    ).toMatch(/does not belong to this stack/);
    expect(
      revisionsToDelete(
        verdictOnRelease(
          [releaseRecord("pending-install")],
          { ...changedStep, namespaceIsOurs: true },
          false,
        ),
      ),
    ).toEqual([1]);
  });

  // In a namespace that is not the stack's, such as kube-system, nothing shows at preview whose release it is.
  test("with other values is reported at preview, and refused by the update", () => {
    const changedStep = { ...releaseStep, values: { driver: { enabled: true } } };
    const expectedVerdict = {
      toDelete: [],
      message: expect.stringMatching(
        /other values\. If it belongs to this stack, the update replaces it\. /,
      ),
    };
    expect(verdictOnRelease([releaseRecord("deployed")], changedStep, true)).toEqual(
      expectedVerdict,
    );
    expect(
      revisionsToDelete(verdictOnRelease([releaseRecord("deployed")], changedStep, false)),
    ).toMatch(/does not belong to this stack/);
  });

  test("with another chart is refused at preview", () => {
    const recordOfOtherChart = releaseRecord("deployed", 1, { chart: "another" });
    const changedStep = { ...releaseStep, values: { driver: { enabled: true } } };
    expect(revisionsToDelete(verdictOnRelease([recordOfOtherChart], changedStep, true))).toMatch(
      /already exists \(another, deployed\), and does not belong/,
    );
  });

  test("that the stack takes over loses its records despite other values, but not at preview", () => {
    const takeOver = { ...releaseStep, values: { driver: { enabled: true } }, takesOver: true };
    const records = [releaseRecord("superseded", 1), releaseRecord("deployed", 2)];
    expect(revisionsToDelete(verdictOnRelease(records, takeOver, false))).toEqual([1, 2]);
    expect(revisionsToDelete(verdictOnRelease(records, takeOver, true))).toEqual([]);
  });

  test("that the stack takes over is refused if its chart is another", () => {
    const takeOver = { ...releaseStep, takesOver: true };
    expect(
      revisionsToDelete(
        verdictOnRelease([releaseRecord("deployed", 1, { chart: "another" })], takeOver, false),
      ),
    ).toMatch(/does not belong to this stack/);
  });

  test("whose upgrade was killed loses the record of that upgrade, but not at preview", () => {
    const records = [releaseRecord("deployed", 1), releaseRecord("pending-upgrade", 2)];
    expect(
      revisionsToDelete(verdictOnRelease(records, { ...releaseStep, creates: false }, false)),
    ).toEqual([2]);
    expect(
      revisionsToDelete(verdictOnRelease(records, { ...releaseStep, creates: false }, true)),
    ).toEqual([]);
  });
});

describe("the check for another LeaderWorkerSet in the cluster", () => {
  const releaseAnnotations = (name: string, namespace = "lws-system") => ({
    "meta.helm.sh/release-name": name,
    "meta.helm.sh/release-namespace": namespace,
  });
  test.each([
    ["accepts a cluster without LeaderWorkerSet", undefined, undefined, undefined],
    ["accepts the stack's release", {}, releaseAnnotations("lws"), undefined],
    [
      "refuses an additional release with another name",
      {},
      releaseAnnotations("sets"),
      /already has a LeaderWorkerSet controller; .* remove this field/,
    ],
    [
      "refuses an additional installation without Helm",
      {},
      {},
      /already has a LeaderWorkerSet controller/,
    ],
    [
      "refuses a release whose upgrade would delete every LeaderWorkerSet",
      releaseAnnotations("lws"),
      releaseAnnotations("lws"),
      /lws-system\/lws has LeaderWorkerSet 0\.7\.0 or older; .*resource-policy=keep/,
    ],
    [
      "accepts a release whose upgrade keeps the CRD",
      { ...releaseAnnotations("lws"), "helm.sh/resource-policy": "keep" },
      releaseAnnotations("lws"),
      undefined,
    ],
  ])("%s", async (_, kind, webhooks, expectedMessage) => {
    const annotationsByKind = {
      CustomResourceDefinition: kind,
      MutatingWebhookConfiguration: webhooks,
    };
    const read = (key: ObjectKey): Promise<LiveObject | undefined> => {
      const annotations = annotationsByKind[key.kind as keyof typeof annotationsByKind];
      return Promise.resolve(
        annotations && liveObject({ ...key, object: { metadata: { annotations } } }),
      );
    };
    const refusal = await foreignSets({ read }, { name: "lws", namespace: "lws-system" });
    expect(refusal === undefined ? "" : renderFinding(refusal)).toMatch(expectedMessage ?? /^$/);
  });
});

test("two owner marks belong to the same stack if the stack's name and state ID are equal", () => {
  const firstMark = ownerText("shop/prod", "a", "6f1c");
  const secondMark = ownerText("shop/prod", "b", "6f1c");
  expect(sameStack(firstMark, secondMark)).toBe(true);
  expect(sameStack(firstMark, ownerText("shop/prod", "a", "77"))).toBe(false);
  expect(sameStack(firstMark, ownerText("shop/test", "a", "6f1c"))).toBe(false);
});

/** A function that returns a guarded object by name. */
async function guardedObjects(): Promise<
  (name: string) => { annotations: unknown; deleteBeforeReplace: boolean }
> {
  const run = await record(
    () => {
      const provider = new k8s.Provider("cluster", {});
      const opts = { provider, transformations: [guarded("gpu", pulumi.output(""))] };
      new k8s.core.v1.Namespace("ns", { metadata: { name: "ns", annotations: { a: "b" } } }, opts);
      new k8s.core.v1.ConfigMap("map", { data: {} }, opts);
      new k8s.batch.v1.Job("job", { spec: { template: { spec: { containers: [] } } } }, opts);
      const claim = { metadata: { name: "claim" }, spec: {} };
      new k8s.core.v1.PersistentVolumeClaim("claim", claim, {
        ...opts,
        deleteBeforeReplace: false,
      });
      new k8s.core.v1.NodePatch("node", { metadata: { name: "node" } }, opts);
    },
    { project: "shop", stack: "prod" },
  );
  return (name) => {
    const { inputs, deleteBeforeReplace } = run.resources.find(
      (resource) => resource.name === name,
    )!;
    return { annotations: inputs["metadata"]?.annotations, deleteBeforeReplace };
  };
}

test("every object except a patch gets the owner mark and the field manager", async () => {
  const guardedObject = await guardedObjects();
  const manager = {
    "pulumi.com/patchFieldManager": "talos-gpu",
    "pulumi.com/patchForce": "true",
  };
  const expectedAnnotations = (name: string) => ({
    ...manager,
    [OWNER]: `shop/prod/${name} cluster-id`,
  });
  expect(guardedObject("ns").annotations).toEqual({ a: "b", ...expectedAnnotations("ns") });
  for (const name of ["map", "claim", "job"])
    expect(guardedObject(name).annotations).toEqual(expectedAnnotations(name));
  expect(guardedObject("node").annotations).toBeUndefined();
});

test("an object that keeps its name is deleted before its replacement, except a namespace or a claim", async () => {
  const guardedObject = await guardedObjects();
  expect(guardedObject("map").deleteBeforeReplace).toBe(true);
  for (const name of ["ns", "claim", "job", "node"])
    expect(guardedObject(name).deleteBeforeReplace).toBe(false);
});

test("a failed connection to the cluster is opened again for the next object, and then kept", async () => {
  const connect = jest
    .fn<Promise<string>, []>()
    .mockRejectedValueOnce(new Error("no such file"))
    .mockResolvedValue("connection");
  const openOnce = untilItSucceeds(connect);
  await expect(openOnce()).rejects.toThrow("no such file");
  expect(await openOnce()).toBe("connection");
  expect(await openOnce()).toBe("connection");
  expect(connect).toHaveBeenCalledTimes(2);
});
