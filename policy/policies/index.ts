import { filesOf, patchesOf, taskOf } from "./machines";
import { asksForGpu, containersOf, podMakers } from "./pods";
import { mayHave, type Policy, type Resource, waitsFor } from "./policy";

/**
 * Where the one part of a machine's containerd configuration is that users may write (talos, internal/app/machined:
 * CRI configuration).
 */
const containerdPart = "/etc/cri/conf.d/20-customization.part";

const onePart: Policy = {
  name: "one-containerd-part",
  description:
    "A machine gets its containerd part once: Talos refuses two files of one path, and the boot goes round in circles.",
  find: (resources) => {
    const parts = new Map<string, number>();
    return resources.flatMap((resource) => {
      const patched = patchesOf(resource);
      if (!patched) return [];
      const here = patched.patches
        .flatMap(filesOf)
        .filter((path) => path === containerdPart).length;
      const count = (parts.get(patched.machine) ?? 0) + here;
      parts.set(patched.machine, count);
      if (here === 0 || count < 2) return [];
      const message = `${patched.machine} gets ${containerdPart} ${count} times; its boot would fail; write it in one patch, or by machines.<name>.containerd`;
      return [{ resource, message }];
    });
  },
};

const serialControlPlanes: Policy = {
  name: "control-planes-one-by-one",
  description: "No two control planes are upgraded at a time: etcd would lose its quorum.",
  find: (resources) => {
    const upgrades = resources.filter((resource) => {
      const task = taskOf(resource);
      return task?.verb === "upgrade" && task.role === "controlplane";
    });
    return upgrades.flatMap((resource, index) =>
      upgrades
        .slice(0, index)
        .filter((other) => !waitsFor(resource, other) && !waitsFor(other, resource))
        .map((other) => ({
          resource,
          message: `it does not wait for ${other.name}, nor the other way; both control planes could be down at once; let one depend on the other`,
        })),
    );
  },
};

const gated: Policy = {
  name: "gpus-behind-the-gate",
  description:
    "Every GPU machine is in a gate's smoke tests, and what asks for a GPU waits for a gate.",
  find: (resources) => {
    const gates = resources.filter((resource) => taskOf(resource)?.verb === "gate");
    const tests = gates.flatMap((gate) => taskOf(gate)?.tests ?? []);
    // Which machines a gate tests may be unknown in a preview; then no machine is missing yet.
    const isTold = gates.every((gate) => taskOf(gate)?.tests !== undefined);
    const machines = (isTold ? resources : []).flatMap((resource) => {
      const task = taskOf(resource);
      const hasGpu =
        task?.machine !== undefined &&
        /^(?:upgrade|omni-wait)$/.test(task.verb) &&
        (task.modules ?? []).length > 0;
      if (!hasGpu || tests.some(({ machine }) => machine === task.machine)) return [];
      const message = `no gate tests a card of ${task.machine}; a driver that does not work would show first in a workload; add its smoke test to the gate`;
      return [{ resource, message }];
    });
    // A test is known by the gate that waits for it: its name is Pulumi's, and not yet there at preview.
    const isTest = (resource: Resource): boolean =>
      /:Job$/.test(resource.type) && gates.some((gate) => waitsFor(gate, resource));
    const workloads = podMakers(resources)
      .filter(({ resource, spec }) => asksForGpu(spec) && !isTest(resource))
      .filter(({ resource }) => !gates.some((gate) => waitsFor(resource, gate)))
      .map(({ resource }) => ({
        resource,
        message:
          "it asks for a GPU and waits for no gate; it could start on a machine that is about to reboot; take runtimeClassName or gpuResourceName from the cluster's outputs",
      }));
    return [...machines, ...workloads];
  },
};

const enforceLabel = "pod-security.kubernetes.io/enforce";
const enforced = ["metadata", "labels", enforceLabel];

const privilegedPods: Policy = {
  name: "privileged-pods-where-declared",
  description:
    "Pods with the host's rights are in namespaces that say so, by label or in the pack's configuration.",
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
    // A namespace that may be declared, and whose name is not known yet, may be anybody's.
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
      const message = `it has ${rights.join(", ")} in namespace ${namespace}, which is not declared for that; Pod Security refuses it, or anybody in there could do the same; move it, or label the namespace ${enforceLabel}: privileged`;
      return [{ resource, message }];
    });
  },
};

const gpuRequests: Policy = {
  name: "gpu-pods-ask-for-gpus",
  description:
    "A pod that is to see a card asks the device plugin for it, and takes none that it did not ask for.",
  find: (resources) =>
    podMakers(resources).flatMap(({ resource, spec, at, isDaemon }) => {
      const variables = containersOf(spec).flatMap(({ env }) => env ?? []);
      const visible = variables.find(({ name }) => name === "NVIDIA_VISIBLE_DEVICES")?.value;
      const sees =
        visible === undefined
          ? spec.runtimeClassName === "nvidia"
          : !/^(?:|none|void)$/.test(visible);
      // A daemon looks after all cards of its node, and takes none away from anybody.
      const mayAsk = ["containers", "initContainers"].some((list) =>
        mayHave(resource, ...at, list, "*", "resources"),
      );
      if (!sees || isDaemon || asksForGpu(spec) || mayAsk) return [];
      const message =
        "it sees the cards of its node without asking for any; it would share them with those that asked; set a limit of nvidia.com/gpu";
      return [{ resource, message }];
    }),
};

const podSecurityLabels: Policy = {
  name: "pod-security-labels",
  description: "Every namespace of a stack says which Pod Security level is enforced in it.",
  find: (resources) =>
    resources
      .filter(({ type }) => type === "kubernetes:core/v1:Namespace")
      // In the preview of a cluster that the stack is yet to make, the engine knows nothing of what is in it: not
      // even a name.
      .filter(
        (resource) => resource.props["metadata"] !== undefined && !mayHave(resource, ...enforced),
      )
      .filter(({ props }) => props["metadata"]?.labels?.[enforceLabel] === undefined)
      .map((resource) => ({
        resource,
        message: `it has no label ${enforceLabel}; what its pods may do hangs on the cluster's default; set privileged, baseline or restricted`,
      })),
};

/** Tags that are moved to a new image from time to time. */
const floating = /^(?:latest|stable|main|master|edge|nightly|dev|devel|rolling)$/;

const pinnedImages: Policy = {
  name: "images-by-release",
  description: "Images are named by a release or a digest: what ran yesterday runs tomorrow.",
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

/** The policies of the pack, in the order in which they are listed. */
export const policies: readonly Policy[] = [
  onePart,
  serialControlPlanes,
  gated,
  privilegedPods,
  gpuRequests,
  podSecurityLabels,
  pinnedImages,
];
