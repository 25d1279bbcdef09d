import {
  isToLaterMinor,
  type KubernetesStep,
  removedBy,
  requestedLine,
  stepFindings,
} from "../../../components/recipe/effect/kubernetes-step";

/** An update from Kubernetes 1.34 to 1.35, with changes. */
const step = (change: Partial<KubernetesStep>): KubernetesStep => ({
  target: "v1.35.0",
  ofControlPlanes: true,
  apiServers: ["v1.34.1"],
  kubelets: [],
  ...change,
});

describe("an update of Kubernetes is accepted", () => {
  test.each<[title: string, change: Partial<KubernetesStep>]>([
    ["to the next minor", {}],
    ["to an older patch release", { target: "v1.34.0" }],
    ["to the release that runs", { apiServers: ["v1.35.0"] }],
    ["if an earlier run ended between two control planes", { apiServers: ["v1.34.1", "v1.35.0"] }],
    ["with kubelets three minors older", { kubelets: [{ node: "a", release: "v1.32.9" }] }],
    ["with a node that does not give its release", { kubelets: [{ node: "a", release: "" }] }],
    ["if the release of no API server is known", { target: "v1.39.0", apiServers: [] }],
    ["of kubelets alone to the API servers' minor", { ofControlPlanes: false, target: "v1.34.9" }],
    [
      "of kubelets alone to three minors before the API servers",
      { ofControlPlanes: false, target: "v1.31.0" },
    ],
  ])("%s", (_, change) => expect(stepFindings(step(change))).toEqual([]));
});

describe("an update of Kubernetes is refused", () => {
  test.each<[title: string, change: Partial<KubernetesStep>, problem: string, remedy: string]>([
    [
      "over more than one minor",
      { target: "v1.36.0" },
      "v1.36.0 is 2 minor releases newer than the 1.34 that kube-apiserver runs",
      "write a release of 1.35 first",
    ],
    [
      "over more than one minor from the oldest API server",
      { target: "v1.36.0", apiServers: ["v1.35.0", "v1.34.1"] },
      "v1.36.0 is 2 minor releases newer than the 1.34 that kube-apiserver runs",
      "write a release of 1.35 first",
    ],
    [
      "back to an earlier minor",
      { target: "v1.33.9" },
      "v1.33.9 is older than the 1.34 that kube-apiserver runs",
      "write the release of 1.34 that kube-apiserver runs, or a newer one",
    ],
    [
      "if a kubelet of the cluster would be too old",
      {
        kubelets: [
          { node: "a", release: "v1.31.4" },
          { node: "b", release: "v1.32.0" },
        ],
      },
      "v1.35.0 is more than 3 minor releases newer than the kubelet of a (v1.31.4)",
      "upgrade these kubelets to 1.32 or newer first, or remove the nodes",
    ],
    [
      "of kubelets alone if they would be newer than an API server",
      { ofControlPlanes: false, apiServers: ["v1.35.0", "v1.34.1"] },
      "gives the stack's kubelets v1.35.0, but kube-apiserver runs 1.34",
      "upgrade the control planes first, or write a release of 1.34",
    ],
    [
      "of kubelets alone if they would be too old",
      { ofControlPlanes: false, target: "v1.30.1" },
      "gives the stack's kubelets v1.30.1, but kube-apiserver runs 1.34",
      "write a release from 1.31 to 1.34",
    ],
  ])("%s", (_, change, problem, remedy) =>
    expect(stepFindings(step(change))).toEqual([expect.objectContaining({ problem, remedy })]),
  );
});

describe("APIs that an update of Kubernetes removes", () => {
  test("are those of all minors after the running one, up to the wanted one", () => {
    const stepTo132 = step({ target: "v1.32.1", apiServers: ["v1.31.0"] });
    expect(removedBy(stepTo132)).toEqual(["/apis/resource.k8s.io/v1alpha3/podschedulingcontexts"]);
    expect(removedBy({ ...stepTo132, apiServers: ["v1.32.0"] })).toEqual([]);
    expect(removedBy({ ...stepTo132, ofControlPlanes: false })).toEqual([]);
    expect(isToLaterMinor({ ...stepTo132, apiServers: ["v1.32.0"] })).toBe(false);
  });

  test("are each named once in a warning if clients request them", () => {
    const requestedApi = (removedInMinor: number, resource = "flowschemas") => ({
      resource,
      groupVersion: "flowcontrol.apiserver.k8s.io/v1beta3",
      removed: removedInMinor,
    });
    const stepTo132 = step({ target: "v1.32.1", apiServers: ["v1.31.0"] });
    expect(requestedLine([requestedApi(31), requestedApi(33)], stepTo132)).toBeUndefined();
    expect(
      requestedLine([requestedApi(32), requestedApi(32), requestedApi(32, "a")], stepTo132),
    ).toMatch(
      /^warning: Kubernetes v1\.32\.1 does not serve a of flowcontrol\S+v1beta3, flowschemas of flowcontrol\S+v1beta3, but kube-apiserver has received requests for them/,
    );
  });
});
