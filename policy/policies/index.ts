import { filesOf, patchesOf, taskOf } from "./machines";
import { asksForGpu, containersOf, podMakers } from "./pods";
import { mayHave, type Policy, type Resource, waitsFor } from "./policy";

/**
 * Path of the only part of a machine's containerd configuration that users may write (talos, internal/app/machined: CRI
 * configuration).
 */
const containerdPart = "/etc/cri/conf.d/20-customization.part";

const onePart: Policy = {
  name: "one-containerd-part",
  description:
    "Each machine has only one containerd part: with two files of the same path Talos does not boot, and the machine reboots forever.",
  find: (resources) => {
    const parts = new Map<string, number>();
    return resources.flatMap((resource) => {
      const patched = patchesOf(resource);
      if (!patched) return [];
      const partCount = patched.patches
        .flatMap(filesOf)
        .filter((path) => path === containerdPart).length;
      const count = (parts.get(patched.machine) ?? 0) + partCount;
      parts.set(patched.machine, count);
      if (partCount === 0 || count < 2) return [];
      const message = `${patched.machine} gets ${containerdPart} ${count} times; its boot would fail; write the file in one patch, or use machines.<name>.containerd`;
      return [{ resource, message }];
    });
  },
};

const serialControlPlanes: Policy = {
  name: "control-planes-one-by-one",
  description:
    "Control planes are upgraded one at a time: with two at the same time etcd would lose its quorum.",
  find: (resources) => {
    const upgrades = resources.filter((resource) => {
      const task = taskOf(resource);
      return task?.verb === "upgrade" && task.role === "controlplane";
    });
    return upgrades.flatMap((resource, index) =>
      upgrades
        .slice(0, index)
        .filter(
          (otherUpgrade) => !waitsFor(resource, otherUpgrade) && !waitsFor(otherUpgrade, resource),
        )
        .map((otherUpgrade) => ({
          resource,
          message: `neither this upgrade nor ${otherUpgrade.name} waits for the other; both control planes could be down at the same time; make one depend on the other`,
        })),
    );
  },
};

const gated: Policy = {
  name: "gpus-behind-the-gate",
  description:
    "A gate tests every GPU machine, and every pod that requests a GPU waits for a gate.",
  find: (resources) => {
    const gates = resources.filter((resource) => taskOf(resource)?.verb === "gate");
    const tests = gates.flatMap((gate) => taskOf(gate)?.tests ?? []);
    // In a preview the machines of a gate may be unknown; then this policy reports no missing machine.
    const isTold = gates.every((gate) => taskOf(gate)?.tests !== undefined);
    const machines = (isTold ? resources : []).flatMap((resource) => {
      const task = taskOf(resource);
      const hasGpu =
        task?.machine !== undefined &&
        /^(?:upgrade|omni-wait)$/.test(task.verb) &&
        (task.modules ?? []).length > 0;
      if (!hasGpu || tests.some(({ machine }) => machine === task.machine)) return [];
      const message = `no gate tests a card of ${task.machine}; a broken driver would first be noticed in a workload; add the machine's smoke test to the gate`;
      return [{ resource, message }];
    });
    // Smoke tests are recognized by their gate, because Pulumi chooses their names, which are unknown at preview.
    const isTest = (resource: Resource): boolean =>
      /:Job$/.test(resource.type) && gates.some((gate) => waitsFor(gate, resource));
    const workloads = podMakers(resources)
      .filter(({ resource, spec }) => asksForGpu(spec) && !isTest(resource))
      .filter(({ resource }) => !gates.some((gate) => waitsFor(resource, gate)))
      .map(({ resource }) => ({
        resource,
        message:
          "it requests a GPU but waits for no gate; it could start on a machine shortly before a reboot; take its RuntimeClass or its resource name from the cluster's outputs (runtimeClassName, gpuResourceName)",
      }));
    return [...machines, ...workloads];
  },
};

const enforceLabel = "pod-security.kubernetes.io/enforce";
const enforced = ["metadata", "labels", enforceLabel];

const privilegedPods: Policy = {
  name: "privileged-pods-where-declared",
  description:
    "Privileged pods are only in namespaces that allow them, by a label or in the pack's configuration.",
  find: (resources, settings) => {
    const labelled = resources
      .filter(({ type }) => type === "kubernetes:core/v1:Namespace")
      .filter(
        (resource) =>
          resource.props["metadata"]?.labels?.[enforceLabel] === "privileged" ||
          mayHave(resource, ...enforced),
      );
    const declared = new Set([
      ...settings.privilegedNamespaces,
      ...labelled.map(({ props }) => String(props["metadata"]?.name)),
    ]);
    // A namespace with an unknown name may be the pod's namespace.
    const anyMayBe = labelled.some((resource) => mayHave(resource, "metadata", "name"));
    return podMakers(resources).flatMap(({ resource, namespace, spec }) => {
      const rights = [
        ...(containersOf(spec).some(({ securityContext }) => securityContext?.privileged)
          ? ["a privileged container"]
          : []),
        ...(["hostNetwork", "hostPID", "hostIPC"] as const).filter((right) => spec[right]),
        ...((spec.volumes ?? []).some(({ hostPath }) => hostPath !== undefined)
          ? ["a hostPath volume"]
          : []),
      ];
      if (rights.length === 0 || anyMayBe || namespace === undefined || declared.has(namespace))
        return [];
      const message = `it has ${rights.join(", ")} in namespace ${namespace}, which does not allow privileged pods; Pod Security refuses the pod, or, if the namespace enforces no level, any other pod in it could also be privileged; move the pod, or label the namespace ${enforceLabel}: privileged`;
      return [{ resource, message }];
    });
  },
};

const gpuRequests: Policy = {
  name: "gpu-pods-ask-for-gpus",
  description: "A pod sees only the cards that it has requested from the device plugin.",
  find: (resources) =>
    podMakers(resources).flatMap(({ resource, spec, specPath, isDaemon }) => {
      const variables = containersOf(spec).flatMap(({ env }) => env ?? []);
      const visible = variables.find(({ name }) => name === "NVIDIA_VISIBLE_DEVICES")?.value;
      const seesCards =
        visible === undefined
          ? spec.runtimeClassName === "nvidia"
          : !/^(?:|none|void)$/.test(visible);
      // A DaemonSet may manage all cards of its node; it takes none from other pods.
      const mayAsk = ["containers", "initContainers"].some((list) =>
        mayHave(resource, ...specPath, list, "*", "resources"),
      );
      if (!seesCards || isDaemon || asksForGpu(spec) || mayAsk) return [];
      const message =
        "it sees the cards of its node without a request; it would share them with pods that requested them; set a limit of nvidia.com/gpu";
      return [{ resource, message }];
    }),
};

const podSecurityLabels: Policy = {
  name: "pod-security-labels",
  description: "Every namespace of a stack has a label with its Pod Security level.",
  find: (resources) =>
    resources
      .filter(({ type }) => type === "kubernetes:core/v1:Namespace")
      // In the preview of a cluster that the stack will create, the engine knows no objects of the cluster, not even
      // their names.
      .filter(
        (resource) => resource.props["metadata"] !== undefined && !mayHave(resource, ...enforced),
      )
      .filter(({ props }) => props["metadata"]?.labels?.[enforceLabel] === undefined)
      .map((resource) => ({
        resource,
        message: `it has no label ${enforceLabel}; the rights of its pods depend on the cluster's default; set privileged, baseline or restricted`,
      })),
};

/** Tags that get a new image from time to time. */
const floating = /^(?:latest|stable|main|master|edge|nightly|dev|devel|rolling)$/;

const pinnedImages: Policy = {
  name: "images-by-release",
  description: "Images have a release or a digest in their name, so that they never change.",
  find: (resources) =>
    podMakers(resources).flatMap(({ resource, spec }) =>
      containersOf(spec).flatMap(({ image }) => {
        if (image === undefined || image.includes("@")) return [];
        const tag = /:([^:/]+)$/.exec(image)?.[1];
        if (tag !== undefined && !floating.test(tag)) return [];
        const message = `${image} has ${tag === undefined ? "no tag" : `the tag ${tag}`}, which may name a different image tomorrow; two nodes could run different images; name a release or a digest`;
        return [{ resource, message }];
      }),
    ),
};

/** The policies of the pack, in the order of their list. */
export const policies: readonly Policy[] = [
  onePart,
  serialControlPlanes,
  gated,
  privilegedPods,
  gpuRequests,
  podSecurityLabels,
  pinnedImages,
];
