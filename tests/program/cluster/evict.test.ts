import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { Kubeconfig } from "../../../components/clients/kubernetes/api";
import { KubernetesCluster } from "../../../components/program/cluster/cluster";
import { evictPods } from "../../../components/program/upgrade/drain";
import { FakeClock, pod } from "../fakes";
import { errorMessageOf } from "../setup";

/** An answer of an API server. */
interface FakeAnswer {
  code: number;
  body: object | string;
  /** Default: the media type of JSON. */
  headers?: http.OutgoingHttpHeaders;
}

/** Answers of the API server of Kubernetes v1.36.3 to evictions. */
const failureStatus = (code: number, message: string, fields: object = {}) => ({
  code,
  body: {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    code,
    ...fields,
  },
});
const severalBudgets = failureStatus(
  500,
  "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
);
const namespaceIsTerminated = failureStatus(
  403,
  'pods "db" is forbidden: unable to create new content in namespace default because it is being terminated',
  {
    reason: "Forbidden",
    details: {
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace default is being terminated",
          field: "metadata.namespace",
        },
      ],
    },
  },
);
/** Answer of an API server that is overloaded (k8s.io/apiserver v0.36.3, tooManyRequests): plain text, no Status. */
const overload: FakeAnswer = {
  code: 429,
  headers: { "content-type": "text/plain; charset=utf-8", "retry-after": "30" },
  body: "Too many requests, please try again later.\n",
};
const budgetWithoutRoom = failureStatus(
  429,
  "Cannot evict pod as it would violate the pod's disruption budget.",
  {
    reason: "TooManyRequests",
    details: {
      causes: [
        { reason: "DisruptionBudget", message: "The disruption budget db needs 1 healthy pods" },
      ],
    },
  },
);

/**
 * An API server with a node of two pods: `db`, whose evictions get the test's answer, and `web`, whose evictions
 * succeed.
 */
class FakeApi {
  readonly evictions: string[] = [];
  /** Answer to an eviction of `db`; undefined if it succeeds. */
  answer: FakeAnswer | undefined;
  /** Number of further lists that the server refuses, as a server that has just started does. */
  refusedLists = 0;
  volumes: object[] = [];
  private podNames = ["db", "web"];
  private readonly server = http.createServer((request, response) => {
    const {
      code,
      body,
      headers = { "content-type": "application/json" },
    } = this.answerTo(request.url ?? "");
    response.writeHead(code, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });

  async cluster(): Promise<KubernetesCluster> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    const { port } = this.server.address() as AddressInfo;
    const config: Kubeconfig = {
      getCurrentCluster: () => ({
        name: "fake",
        server: `http://127.0.0.1:${port}`,
        skipTLSVerify: true,
      }),
      getCurrentContext: () => "fake",
      getCurrentUser: () => ({ name: "fake" }),
      applyToHTTPSOptions: () => Promise.resolve(),
    };
    return new KubernetesCluster(config, []);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private answerTo(url: string): FakeAnswer {
    const podName = /\/pods\/(\w+)\/eviction$/.exec(url)?.[1];
    if (podName !== undefined) return this.evict(podName);
    const objectNamed = (name: string): object => ({
      metadata: { name, namespace: "default", uid: name },
    });
    if (this.refusedLists > 0 && !/\/nodes\/\w/.test(url)) {
      this.refusedLists--;
      return failureStatus(429, "storage is (re)initializing", {
        details: { retryAfterSeconds: 1 },
      });
    }
    if (url.includes("/volumeattachments")) return { code: 200, body: { items: this.volumes } };
    if (url.includes("/pods"))
      return { code: 200, body: { items: this.podNames.map(objectNamed) } };
    if (/\/nodes\/\w/.test(url))
      return {
        code: 200,
        body: { ...objectNamed("n"), status: { conditions: [{ type: "Ready", status: "True" }] } },
      };
    return { code: 200, body: { items: [objectNamed("n"), objectNamed("m")] } };
  }

  private evict(name: string): FakeAnswer {
    this.evictions.push(name);
    if (name === "db" && this.answer !== undefined) return this.answer;
    this.podNames = this.podNames.filter((remainingName) => remainingName !== name);
    return { code: 201, body: { kind: "Status", status: "Success", code: 201 } };
  }
}

let api: FakeApi;
beforeEach(() => (api = new FakeApi()));
afterEach(() => api.close());

const drainNode = async (clock = new FakeClock(), cluster?: KubernetesCluster): Promise<string> =>
  evictPods({
    cluster: cluster ?? (await api.cluster()),
    clock,
    poll: 10_000,
    report: () => {},
    task: { machine: "n", schematicId: "s" },
    limits: { drain: 60_000 },
  });

test.each([
  [
    "that more than one disruption budget selects",
    severalBudgets,
    "This pod has more than one PodDisruptionBudget",
    "several disruption budgets in the namespace default select the pod",
  ],
  [
    "whose namespace is being deleted",
    namespaceIsTerminated,
    "because it is being terminated",
    "the namespace default is being deleted with its pods",
  ],
  [
    "whose disruption budget has no room",
    budgetWithoutRoom,
    "it would violate the pod's disruption budget",
    "the owner of the disruption budget default/db must",
  ],
])(
  "a pod %s does not block other evictions, and its reason is reported",
  async (_, answer, expectedReason, expectedRemedy) => {
    api.answer = answer;
    const message = await errorMessageOf(drainNode());
    expect(api.evictions.filter((name) => name === "web")).toHaveLength(1);
    expect(api.evictions.filter((name) => name === "db").length).toBeGreaterThan(1);
    expect(message.split("\n")).toHaveLength(1);
    expect(message).toMatch(/^machines\.n: pod default\/db did not end within 1m: /);
    for (const part of [expectedReason, expectedRemedy, "node n stays cordoned"])
      expect(message).toContain(part);
  },
);

test.each([
  ["several disruption budgets", severalBudgets],
  ["a namespace that is being deleted", namespaceIsTerminated],
])("a pod is evicted as soon as Kubernetes no longer refuses because of %s", async (_, answer) => {
  api.answer = answer;
  const clock = new FakeClock();
  clock.after(25, () => (api.answer = undefined));
  expect(await drainNode(clock)).toBe("node n is drained");
});

test("the drain repeats its requests to an API server that has just started and serves no lists yet", async () => {
  api.refusedLists = 3;
  const cluster = await api.cluster();
  await expect(cluster.pods("n")).rejects.toMatchObject({ problem: "busy", code: 429 });
  expect(await drainNode(new FakeClock(), cluster)).toBe("node n is drained");
});

test("the drain reports only volumes that are still attached to the drained node", async () => {
  const volumeAttachment = (nodeName: string, persistentVolumeName: string): object => ({
    metadata: { name: `csi-${persistentVolumeName}` },
    spec: { attacher: "csi.example", nodeName, source: { persistentVolumeName } },
  });
  api.volumes = [volumeAttachment("n", "pvc-1"), volumeAttachment("m", "pvc-2")];
  expect(await drainNode()).toMatch(
    /^node n is drained; warning: volumes are still attached to it \(pvc-1\)/,
  );
});

test("a permanent refusal ends the drain at once", async () => {
  api.answer = failureStatus(
    403,
    'pods "db" is forbidden: User "x" cannot create resource "pods/eviction"',
  );
  const clock = new FakeClock();
  expect(await errorMessageOf(drainNode(clock))).toContain(
    "its pods could not be evicted: Kubernetes: eviction of default/db",
  );
  expect(clock.now()).toBe(0);
});

test("a proxy's error page for an API server that is down does not count as a refused eviction", async () => {
  api.answer = { code: 500, body: "<html>bad gateway</html>" };
  const cluster = await api.cluster();
  await expect(cluster.evict(pod("db", { uid: "db" }))).rejects.toMatchObject({
    problem: "unreachable",
    code: 500,
  });
});

test("an overloaded API server does not refuse an eviction: the drain waits as long as the server says", async () => {
  api.answer = overload;
  const cluster = await api.cluster();
  await expect(cluster.evict(pod("db", { uid: "db" }))).rejects.toMatchObject({
    problem: "busy",
    retryAfter: 30_000,
  });
  api.evictions.length = 0;
  const clock = new FakeClock();
  clock.after(25, () => (api.answer = undefined));
  expect(await drainNode(clock, cluster)).toBe("node n is drained");
  expect(api.evictions).toEqual(["db", "db", "web"]);
});

test("if the API server stays overloaded, the drain's error names neither a budget nor the owner of a namespace", async () => {
  api.answer = overload;
  const message = await errorMessageOf(drainNode());
  expect(message).toContain("pod default/db did not end within 1m: the update could not request");
  expect(message).toContain("takes no more requests for now (HTTP 429)");
  expect(message).toContain("check that the Kubernetes API answers");
  expect(message).not.toContain("must allow the eviction");
});
