import { differences, inOneLine, type Observations } from "../../components/diagnosis";
import { withWhereabouts } from "../../components/diagnosis/whereabouts";
import { type ClusterSpec, type ExternalSpec, planCluster } from "../../components/recipe";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";

const { talosVersion } = planOf("rtx3090").spec;
const machines: ClusterSpec["machines"] = {
  gpu: {
    address: "192.0.2.1",
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 3090" }],
  },
};
const planWith = (external: ExternalSpec) =>
  planCluster({ talosVersion, machines, external: { kind: "devicePlugin", ...external } });

/** Observations of a cluster in which a plan's release is in another namespace. */
function withReleaseIn(namespace: string, external: ExternalSpec): Observations {
  const plan = planWith(external);
  const observations = asPlanned({
    ...plan,
    kubernetes: { ...plan.kubernetes, release: { ...plan.kubernetes.release, namespace } },
  });
  const jobs = observations.jobs!.map((job) => ({ ...job, namespace: plan.kubernetes.namespace }));
  const namespaces = [
    { name: plan.kubernetes.namespace, labels: plan.kubernetes.namespaceLabels ?? {} },
  ];
  return { ...observations, jobs, namespaces };
}

const differencesOf = (external: ExternalSpec, observations: Observations) =>
  differences(observations, withWhereabouts(planWith(external), observations)).map(inOneLine);

test("a release without a known namespace is searched in the whole cluster", () => {
  expect(planWith({}).kubernetes.release.namespace).toBe("nvidia-device-plugin");
  expect(differencesOf({}, withReleaseIn("kube-system", {}))).toEqual([]);
});

test("a missing release is reported to be in no namespace", () => {
  const observations = { ...withReleaseIn("kube-system", {}), daemonSets: [], pods: [] };
  expect(differencesOf({}, observations)).toEqual([
    "DaemonSet of the device plugin: is in no namespace of the cluster",
  ]);
});

test("a release in another namespace than the stack's is reported with the field that corrects it", () => {
  const external = { namespace: "gpu" };
  const observations = withReleaseIn("kube-system", external);
  expect(differences(observations, withWhereabouts(planWith(external), observations))).toEqual([
    {
      about: "DaemonSet of the device plugin",
      problem: "is in namespace kube-system, the plan says gpu",
      remedy: "write `external.namespace: kube-system` in the stack's file",
    },
  ]);
});
