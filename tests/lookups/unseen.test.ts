import * as pulumi from "@pulumi/pulumi";
import { unknown as unknownValue } from "@pulumi/pulumi/output";
import { KubernetesError } from "../../components/clients/kubernetes/error";
import { unreachableWarning } from "../../components/cluster/unseen";
import { reasonForNoAnswer } from "../../components/lookups/ask-cluster";

const unreachableError = new KubernetesError(
  "unreachable",
  "Namespace kube-system",
  "https://192.0.2.1:6443 refuses the connection",
);
const unknownUserError = new KubernetesError(
  "refused",
  "Namespace kube-system",
  "https://192.0.2.1:6443 does not accept the credentials (HTTP 401)",
  401,
);
const forbiddenError = new KubernetesError(
  "refused",
  "Namespace kube-system",
  "user me cannot get it",
  403,
  [],
  true,
);

/** Opens a cluster whose API server answers in this way. */
const openCluster = (answer: () => Promise<string | undefined>) => () => ({ ownerOf: answer });

test.each<[cluster: string, answer: () => Promise<string | undefined>]>([
  ["answers", () => Promise.resolve(undefined)],
  ["forbids the user to read the namespace", () => Promise.reject(forbiddenError)],
])("a cluster that %s gets no warning", async (_, answer) => {
  expect(await reasonForNoAnswer("the stack's", openCluster(answer), {}, 50)).toBeUndefined();
});

test.each<[cluster: string, answer: () => Promise<string | undefined>, reason: string]>([
  [
    "is down",
    () => Promise.reject(unreachableError),
    "https://192.0.2.1:6443 refuses the connection",
  ],
  [
    "does not know the user",
    () => Promise.reject(unknownUserError),
    "https://192.0.2.1:6443 does not accept the credentials (HTTP 401)",
  ],
  [
    "does not answer in time",
    () => new Promise(() => undefined),
    "the cluster does not answer within 0.05 s",
  ],
])("a cluster that %s gets a warning with the reason", async (_, answer, reason) => {
  expect(await reasonForNoAnswer("the stack's", openCluster(answer), {}, 50)).toBe(reason);
});

test.each<[kubeconfigIs: string, kubeconfig: unknown]>([
  ["not known yet", pulumi.output(unknownValue)],
  ["not set, and no variable names one", undefined],
])("a cluster that is down gets no warning if its kubeconfig is %s", async (_, kubeconfig) => {
  expect(
    await reasonForNoAnswer(
      kubeconfig,
      openCluster(() => Promise.reject(unreachableError)),
      {},
      5_000,
    ),
  ).toBeUndefined();
});

test("the preview's warning has a problem, a reason and a remedy", () => {
  expect(unreachableWarning("https://192.0.2.1:6443 refuses the connection").split("; ")).toEqual([
    "kubeconfig: the cluster did not answer (https://192.0.2.1:6443 refuses the connection)",
    "this preview cannot show which objects already exist, and the update first waits up to 3m for the cluster",
    expect.stringContaining("check the URL, the credentials, and that a control plane is up"),
  ]);
});
