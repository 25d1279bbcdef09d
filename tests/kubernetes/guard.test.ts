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

const ours = ownerText("shop/prod", "gpu-namespace", "6f1c");
const live = (changes: Partial<LiveObject> = {}): LiveObject => ({
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
interface Guarded {
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

const claim = { kind: "PersistentVolumeClaim", owner: ours };
// Pulumi would delete the new claim by its name, and a pod may have bound it by then.
const emptyClaim = [
  /would be replaced \(because of a changed storageClass or --replace\).*; remove the workload .* for one update, /,
  /then add it again with this class\. Nothing is lost, because the claim has no volume yet\. After a kill/,
];
const creations: Guarded[] = [
  { name: "creates an object that does not exist", verdict: "create" },
  {
    name: "first deletes the stack's object that a killed update left out of the state",
    live: { owner: ours },
    verdict: "delete first",
  },
  {
    name: "at preview accepts the stack's object that the state lacks",
    live: { owner: ours },
    preview: true,
    verdict: "create",
  },
  {
    name: "refuses to replace a namespace that contains a pod",
    live: { owner: ours, holds: ["Pod x"] },
    verdict: /contains Pod x/,
  },
  {
    name: "at preview refuses to replace a namespace that contains a pod",
    live: { owner: ours, holds: ["Pod x"] },
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
    live: { kind: "ConfigMap", owner: ours, holds: ["x"] },
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

test.each(creations)("the guard $name", ({ live: differs, withoutState, preview, verdict }) => {
  const there = differs && live(differs);
  const decided = verdictOnObject(there, withoutState ? undefined : ours, preview ?? false);
  if (verdict === "create") expect(decided).toMatchObject({ take: [] });
  else if (verdict === "delete first") expect(decided).toMatchObject({ take: [there] });
  else for (const pattern of [verdict].flat()) expect(refusalOf(decided)).toMatch(pattern);
});

describe("the former object of a resource that moves to another namespace", () => {
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    name: "ollama-models",
    namespace: "ai",
  };
  const former = live({ ...claim, namespace: "ollama", owner: ours, holds: ["volume v"] });
  const namespace = live({
    name: "ollama",
    owner: ours,
    holds: ["Pod x", "PersistentVolumeClaim y"],
  });

  test("may not be deleted if it is a claim with a volume, or a namespace with a claim", () => {
    const refused =
      /^PersistentVolumeClaim ollama\/ollama-models: contains volume v, and would be deleted once .*ai\/ollama-models exists; /;
    expect(refusalOf(verdictOnMove([former], claim))).toMatch(refused);
    expect(refusalOf(verdictOnMove([namespace], live({ name: "ai" })))).toMatch(
      /^Namespace ollama: contains PersistentVolumeClaim y, and .*set the namespace to its former value/,
    );
  });

  test("may be deleted if it holds no data", () => {
    expect(verdictOnMove([live({ ...former, holds: [] })], claim)).toEqual({ take: [] });
    expect(
      verdictOnMove([live({ name: "gpus", owner: ours, holds: ["Pod x"] })], live({ name: "ai" })),
    ).toEqual({
      take: [],
    });
  });

  test("is not mistaken for the new object, which may hold data", () => {
    expect(verdictOnMove([live({ ...former, namespace: "ai" })], claim)).toEqual({ take: [] });
  });
});

describe("a Helm release", () => {
  const record = (
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
  const step = {
    name: "gpu-operator",
    namespace: "gpu-operator",
    chart: "gpu-operator",
    values: { driver: { enabled: false } },
    creates: true,
    namespaceIsOurs: false,
    takesOver: false,
  };
  const takes = (verdict: ReturnType<typeof verdictOnRelease>): number[] | string =>
    "refuse" in verdict ? refusalOf(verdict) : verdict.take.map(({ revision }) => revision);

  test("keeps its records if it has none or is deployed", () => {
    expect(takes(verdictOnRelease([], step, false))).toEqual([]);
    expect(
      takes(verdictOnRelease([record("deployed")], { ...step, creates: false }, false)),
    ).toEqual([]);
  });

  test("whose installation was killed loses its record, but not at preview", () => {
    expect(takes(verdictOnRelease([record("pending-install")], step, false))).toEqual([1]);
    expect(takes(verdictOnRelease([record("pending-install")], step, true))).toEqual([]);
  });

  test("whose installation was killed is the stack's despite changed values if its namespace is the stack's", () => {
    const other = { ...step, values: { driver: { enabled: true } } };
    expect(takes(verdictOnRelease([record("pending-install")], other, false))).toMatch(
      /does not belong to this stack/,
    );
    expect(
      takes(
        verdictOnRelease([record("pending-install")], { ...other, namespaceIsOurs: true }, false),
      ),
    ).toEqual([1]);
  });

  // In a namespace that is not the stack's, such as kube-system, nothing shows at preview whose release it is.
  test("with other values is reported at preview, and refused by the update", () => {
    const changed = { ...step, values: { driver: { enabled: true } } };
    const told = {
      take: [],
      say: expect.stringMatching(
        /other values\. If it belongs to this stack, the update replaces it\. /,
      ),
    };
    expect(verdictOnRelease([record("deployed")], changed, true)).toEqual(told);
    expect(takes(verdictOnRelease([record("deployed")], changed, false))).toMatch(
      /does not belong to this stack/,
    );
  });

  test("with another chart is refused at preview", () => {
    const another = record("deployed", 1, { chart: "another" });
    const changed = { ...step, values: { driver: { enabled: true } } };
    expect(takes(verdictOnRelease([another], changed, true))).toMatch(
      /already exists \(another, deployed\), and does not belong/,
    );
  });

  test("that the stack takes over loses its records despite other values, but not at preview", () => {
    const over = { ...step, values: { driver: { enabled: true } }, takesOver: true };
    const records = [record("superseded", 1), record("deployed", 2)];
    expect(takes(verdictOnRelease(records, over, false))).toEqual([1, 2]);
    expect(takes(verdictOnRelease(records, over, true))).toEqual([]);
  });

  test("that the stack takes over is refused if its chart is another", () => {
    const over = { ...step, takesOver: true };
    expect(
      takes(verdictOnRelease([record("deployed", 1, { chart: "another" })], over, false)),
    ).toMatch(/does not belong to this stack/);
  });

  test("whose upgrade was killed loses the record of that upgrade, but not at preview", () => {
    const records = [record("deployed", 1), record("pending-upgrade", 2)];
    expect(takes(verdictOnRelease(records, { ...step, creates: false }, false))).toEqual([2]);
    expect(takes(verdictOnRelease(records, { ...step, creates: false }, true))).toEqual([]);
  });
});

describe("the check for another LeaderWorkerSet in the cluster", () => {
  const of = (name: string, namespace = "lws-system") => ({
    "meta.helm.sh/release-name": name,
    "meta.helm.sh/release-namespace": namespace,
  });
  test.each([
    ["accepts a cluster without LeaderWorkerSet", undefined, undefined, undefined],
    ["accepts the stack's release", {}, of("lws"), undefined],
    [
      "refuses an additional release with another name",
      {},
      of("sets"),
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
      of("lws"),
      of("lws"),
      /lws-system\/lws has LeaderWorkerSet 0\.7\.0 or older; .*resource-policy=keep/,
    ],
    [
      "accepts a release whose upgrade keeps the CRD",
      { ...of("lws"), "helm.sh/resource-policy": "keep" },
      of("lws"),
      undefined,
    ],
  ])("%s", async (_, kind, webhooks, said) => {
    const has = { CustomResourceDefinition: kind, MutatingWebhookConfiguration: webhooks };
    const read = (key: ObjectKey): Promise<LiveObject | undefined> => {
      const annotations = has[key.kind as keyof typeof has];
      return Promise.resolve(
        annotations && live({ ...key, object: { metadata: { annotations } } }),
      );
    };
    const refusal = await foreignSets({ read }, { name: "lws", namespace: "lws-system" });
    expect(refusal === undefined ? "" : renderFinding(refusal)).toMatch(said ?? /^$/);
  });
});

test("two owner marks belong to the same stack if the stack's name and state ID are equal", () => {
  const [one, other] = [ownerText("shop/prod", "a", "6f1c"), ownerText("shop/prod", "b", "6f1c")];
  expect(sameStack(one, other)).toBe(true);
  expect(sameStack(one, ownerText("shop/prod", "a", "77"))).toBe(false);
  expect(sameStack(one, ownerText("shop/test", "a", "6f1c"))).toBe(false);
});

/** Annotations and deleteBeforeReplace of guarded objects, by name. */
async function guardedObjects(): Promise<(name: string) => [unknown, boolean]> {
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
    return [inputs["metadata"]?.annotations, deleteBeforeReplace];
  };
}

test("every object except a patch gets the owner mark and the field manager", async () => {
  const of = await guardedObjects();
  const manager = { "pulumi.com/patchFieldManager": "talos-gpu" };
  const mark = (name: string) => ({ ...manager, [OWNER]: `shop/prod/${name} cluster-id` });
  expect(of("ns")[0]).toEqual({ a: "b", ...mark("ns") });
  for (const name of ["map", "claim", "job"]) expect(of(name)[0]).toEqual(mark(name));
  expect(of("node")[0]).toBeUndefined();
});

test("an object that keeps its name is deleted before its replacement, except a namespace or a claim", async () => {
  const of = await guardedObjects();
  expect(of("map")[1]).toBe(true);
  for (const name of ["ns", "claim", "job", "node"]) expect(of(name)[1]).toBe(false);
});

test("a failed connection to the cluster is opened again for the next object, and then kept", async () => {
  const opened = jest
    .fn<Promise<string>, []>()
    .mockRejectedValueOnce(new Error("no such file"))
    .mockResolvedValue("it");
  const open = untilItSucceeds(opened);
  await expect(open()).rejects.toThrow("no such file");
  expect([await open(), await open()]).toEqual(["it", "it"]);
  expect(opened).toHaveBeenCalledTimes(2);
});
