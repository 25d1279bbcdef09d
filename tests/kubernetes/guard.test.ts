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

/** What a refusal says; empty where nothing is refused. */
const refusalOf = (verdict: Verdict<unknown>): string =>
  "refuse" in verdict ? renderFinding(verdict.refuse) : "";

/** An object that Pulumi is about to create, and what the guard decides. */
interface Guarded {
  name: string;
  /** What is in the cluster: fields that differ from a namespace gpu-operator without a mark. Default: nothing. */
  live?: Partial<LiveObject>;
  /** The stack has no state yet, so it has no mark of its own. */
  withoutState?: true;
  preview?: true;
  /** Pulumi creates it, the live one is deleted first, or patterns of why it is refused. */
  verdict: "create" | "delete first" | RegExp | RegExp[];
}

const claim = { kind: "PersistentVolumeClaim", owner: ours };
// Pulumi would delete the new one by its name, and a pod may have bound it by then.
const emptyClaim = [
  /would be replaced \(another storageClass, or --replace\).*; it has no volume yet, so nothing is lost: /,
  /nothing is lost: remove the workload .* for one update, then add it again with this class; after a kill/,
];
const creations: Guarded[] = [
  { name: "is not there", verdict: "create" },
  { name: "was lost by a killed update", live: { owner: ours }, verdict: "delete first" },
  { name: "was lost, at preview", live: { owner: ours }, preview: true, verdict: "create" },
  {
    name: "was lost, and holds something",
    live: { owner: ours, holds: ["Pod x"] },
    verdict: /contains Pod x/,
  },
  {
    name: "holds something, at preview",
    live: { owner: ours, holds: ["Pod x"] },
    preview: true,
    verdict: /--replace.*contains Pod x/,
  },
  {
    name: "is a claim with a volume, at preview",
    live: { ...claim, holds: ["volume v"] },
    preview: true,
    verdict:
      /would be replaced \(another storageClass, or --replace\).*contains volume v.*set storageClass to its former value/,
  },
  { name: "is a claim that never got a volume", live: claim, verdict: emptyClaim },
  {
    name: "is a claim that never got a volume, at preview",
    live: claim,
    preview: true,
    verdict: emptyClaim,
  },
  {
    name: "is of a kind that keeps no data, at preview",
    live: { kind: "ConfigMap", owner: ours, holds: ["x"] },
    preview: true,
    verdict: "create",
  },
  {
    name: "is another stack's",
    live: { owner: ownerText("shop/test", "gpu-namespace", "77") },
    verdict: /shop\/test/,
  },
  {
    name: "is another stack's, at preview",
    live: { owner: ownerText("shop/test", "ns", "77") },
    withoutState: true,
    preview: true,
    verdict: /already exists; .* created it/,
  },
  {
    name: "is of another stack of this project, whose name this one may have had",
    live: { owner: ownerText("shop/test", "gpu-namespace", "6f1c") },
    preview: true,
    verdict: [
      /already exists; shop\/test\/gpu-namespace created it; .*; if you renamed the stack from test, /,
      /; if you renamed the stack from test, rename it back: pulumi stack rename test$/,
    ],
  },
  {
    name: "is another project's",
    live: { owner: ownerText("home/test", "gpu-namespace", "77") },
    preview: true,
    verdict: /if you renamed the resource, give it an alias$/,
  },
  {
    name: "is of a stack of this name with another state",
    live: { owner: ownerText("shop/prod", "gpu-namespace", "0") },
    verdict: /already exists; .* created it/,
  },
  {
    name: "is another resource's of this stack",
    live: { owner: ownerText("shop/prod", "x", "6f1c") },
    verdict: /alias/,
  },
  {
    name: "is a namespace without a mark, at preview",
    live: {},
    preview: true,
    verdict: /not this stack's/,
  },
  // The operator's own RuntimeClass goes by the very update that brings ours.
  {
    name: "may be removed by this update",
    live: { kind: "RuntimeClass", name: "nvidia" },
    preview: true,
    verdict: "create",
  },
  {
    name: "has no mark, and is still there",
    live: { kind: "RuntimeClass", name: "nvidia" },
    verdict: /not this stack's/,
  },
];

test.each(creations)(
  "an object that Pulumi is about to create $name",
  ({ live: differs, withoutState, preview, verdict }) => {
    const there = differs && live(differs);
    const decided = verdictOnObject(there, withoutState ? undefined : ours, preview ?? false);
    if (verdict === "create") expect(decided).toMatchObject({ take: [] });
    else if (verdict === "delete first") expect(decided).toMatchObject({ take: [there] });
    else for (const pattern of [verdict].flat()) expect(refusalOf(decided)).toMatch(pattern);
  },
);

describe("an object of the same resource in another namespace", () => {
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

  test("is not deleted if it is a claim with a volume, or a namespace with a claim", () => {
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

  test("is not the new object itself, which may hold data", () => {
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

  test("without a record, and one that is deployed, is left alone", () => {
    expect(takes(verdictOnRelease([], step, false))).toEqual([]);
    expect(
      takes(verdictOnRelease([record("deployed")], { ...step, creates: false }, false)),
    ).toEqual([]);
  });

  test("whose installation was killed is installed again over the existing objects", () => {
    expect(takes(verdictOnRelease([record("pending-install")], step, false))).toEqual([1]);
    expect(takes(verdictOnRelease([record("pending-install")], step, true))).toEqual([]);
  });

  test("whose installation was killed, and whose values have changed since, is known by its namespace", () => {
    const other = { ...step, values: { driver: { enabled: true } } };
    expect(takes(verdictOnRelease([record("pending-install")], other, false))).toMatch(
      /not this stack's/,
    );
    expect(
      takes(
        verdictOnRelease([record("pending-install")], { ...other, namespaceIsOurs: true }, false),
      ),
    ).toEqual([1]);
  });

  // In a namespace that is not the stack's, such as kube-system, nothing tells at preview whose it is.
  test("with other values is reported at preview; with another chart it is refused", () => {
    const changed = { ...step, values: { driver: { enabled: true } } };
    const told = {
      take: [],
      say: expect.stringMatching(/other values\. If it is this stack's, the update replaces it\. /),
    };
    expect(verdictOnRelease([record("deployed")], changed, true)).toEqual(told);
    expect(takes(verdictOnRelease([record("deployed")], changed, false))).toMatch(
      /not this stack's/,
    );
    const another = record("deployed", 1, { chart: "another" });
    expect(takes(verdictOnRelease([another], changed, true))).toMatch(
      /already exists \(another, deployed\), and is not/,
    );
  });

  test("that the stack takes over loses its records, whatever its values; another chart's is refused", () => {
    const over = { ...step, values: { driver: { enabled: true } }, takesOver: true };
    const records = [record("superseded", 1), record("deployed", 2)];
    expect(takes(verdictOnRelease(records, over, false))).toEqual([1, 2]);
    expect(takes(verdictOnRelease(records, over, true))).toEqual([]);
    expect(
      takes(verdictOnRelease([record("deployed", 1, { chart: "another" })], over, false)),
    ).toMatch(/not this stack's/);
  });

  test("whose upgrade was killed continues from the revision before", () => {
    const records = [record("deployed", 1), record("pending-upgrade", 2)];
    expect(takes(verdictOnRelease(records, { ...step, creates: false }, false))).toEqual([2]);
    expect(takes(verdictOnRelease(records, { ...step, creates: false }, true))).toEqual([]);
  });
});

describe("LeaderWorkerSet, one per cluster", () => {
  const of = (name: string, namespace = "lws-system") => ({
    "meta.helm.sh/release-name": name,
    "meta.helm.sh/release-namespace": namespace,
  });
  test.each([
    ["a cluster without one", undefined, undefined, undefined],
    ["the stack's own", {}, of("lws"), undefined],
    [
      "another owner's under another name",
      {},
      of("sets"),
      /already has a LeaderWorkerSet controller; .* remove this field/,
    ],
    ["another owner's without Helm", {}, {}, /already has a LeaderWorkerSet controller/],
    [
      "one whose upgrade deletes every set",
      of("lws"),
      of("lws"),
      /lws-system\/lws is 0\.7\.0 or older; .*resource-policy=keep/,
    ],
    [
      "one whose definition an upgrade keeps",
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

test("owners belong to one stack if its name and its state agree", () => {
  const [one, other] = [ownerText("shop/prod", "a", "6f1c"), ownerText("shop/prod", "b", "6f1c")];
  expect(sameStack(one, other)).toBe(true);
  expect(sameStack(one, ownerText("shop/prod", "a", "77"))).toBe(false);
  expect(sameStack(one, ownerText("shop/test", "a", "6f1c"))).toBe(false);
});

test("every object is marked, and deleted before it is replaced; the exceptions are named", async () => {
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
  const of = (name: string): [unknown, boolean] => {
    const { inputs, deleteBeforeReplace } = run.resources.find(
      (resource) => resource.name === name,
    )!;
    return [inputs["metadata"]?.annotations, deleteBeforeReplace];
  };
  const manager = { "pulumi.com/patchFieldManager": "talos-gpu" };
  expect(of("ns")).toEqual([{ a: "b", ...manager, [OWNER]: "shop/prod/ns cluster-id" }, false]);
  expect(of("map")).toEqual([{ ...manager, [OWNER]: "shop/prod/map cluster-id" }, true]);
  expect(of("claim")[1]).toBe(false);
  expect(of("job")).toEqual([{ ...manager, [OWNER]: "shop/prod/job cluster-id" }, false]);
  expect(of("node")).toEqual([undefined, false]);
});

test("a failed connection to the cluster is retried for the next object; an open one is kept", async () => {
  const opened = jest
    .fn<Promise<string>, []>()
    .mockRejectedValueOnce(new Error("no such file"))
    .mockResolvedValue("it");
  const open = untilItSucceeds(opened);
  await expect(open()).rejects.toThrow("no such file");
  expect([await open(), await open()]).toEqual(["it", "it"]);
  expect(opened).toHaveBeenCalledTimes(2);
});
