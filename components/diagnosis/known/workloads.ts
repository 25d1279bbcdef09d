import { oldestDriverForCuda } from "../../recipe/facts/cuda";
import { compareDotted } from "../../recipe/facts/version";
import { workloadsOfKind } from "../../recipe/stack/workloads";
import { matching } from "../evidence";
import { type Cause, fixesOf } from "./known";

/** Failures of programs that run on the GPUs. */
export const workloadFixes = fixesOf({
  modelsPull: {
    does: "a Job pulls ollama's models, and ollama's container has no postStart hook",
    symptom:
      "ollama's container is killed seconds after its start, again and again: FailedPostStartHook",
    cause:
      "on Talos ≤ 1.12 the exec of a postStart hook fails in a GPU container, and Kubernetes kills a container whose postStart hook fails. If no hook fails, `init 250 result=11` in a container's log is harmless",
    errors: ["FailedPostStartHook", "PostStartHookError"],
    inForce:
      "remove the postStart hook from the Deployment: the package adds none, so a user or another tool has added it",
    source: "siderolabs/extensions#940; ollama-helm#68, #100",
    usedBy: (plan) =>
      plan.injection === "legacy" &&
      workloadsOfKind(plan.spec, "ollama").some(({ spec: { models = [] } }) => models.length > 0),
    // The kubelet's event FailedPostStartHook, which quotes the runtime. The runtime's message `init 250 result=11`
    // alone is no sign: five reports call it harmless (siderolabs/extensions#940).
    sign: (observations) =>
      matching(
        observations,
        /(?:PostStartHookError|lifecycle hook)(?:(?!PostStartHookError|lifecycle hook).)*(?:nvidia|init 250)/is,
      ),
  },
  cudaImage: {
    does: "images use a CUDA release that the drivers of all GPU machines support",
    symptom: "CUDA programs fail: CUDA driver version is insufficient for CUDA runtime version",
    cause:
      "the driver of the machine is older than the image's CUDA major version requires (CUDA 12: 525.60.13, CUDA 13: 580.65.06)",
    errors: [
      "CUDA driver version is insufficient for CUDA runtime version",
      "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=…, please update your driver to a newer version",
    ],
    inForce: "set an image with an older CUDA (smokeTestImage, workloads.<name>.image)",
    source: "docs.nvidia.com/deploy/cuda-compatibility, minor version compatibility",
    check: "cuda-image",
    usedBy: (plan) =>
      plan.machines.some(({ driverVersion }) =>
        isOlderThan(driverVersion, oldestDriverForCuda("13.0")),
      ),
    // The message of the CUDA runtime, or that of nvidia-container-cli for images with NVIDIA_REQUIRE_CUDA.
    sign: (observations) =>
      matching(
        observations,
        /CUDA driver version is insufficient for CUDA runtime version|requirement error: unsatisfied condition: cuda/,
      ),
  },
  sharedMemory: {
    does: "vLLM's pods have a /dev/shm of 8 GiB in memory (workloads.vllm.sharedMemory)",
    symptom: "vLLM on several cards ends at its start: NCCL cannot extend a file in /dev/shm",
    cause:
      "by default a container has 64 MiB of shared memory. The processes of one model, one per card, need more to exchange data",
    errors: [
      "Error: failed to extend /dev/shm/nccl-… to … bytes",
      "Error while creating shared memory segment /dev/shm/nccl-… (size …)",
    ],
    inForce:
      "increase workloads.vllm.sharedMemory: with many cards or a large batch, the processes share more than 8 GiB",
    source:
      "docs.nvidia.com/deeplearning/nccl, troubleshooting (shared memory); containerd, pkg/oci/mounts.go (size=65536k)",
    usedBy: (plan) =>
      workloadsOfKind(plan.spec, "vllm").some(
        ({ spec: { gpus = 1, machines = 1 } }) => gpus * machines > 1,
      ),
    sign: (observations) =>
      matching(
        observations,
        /failed to extend \/dev\/shm\/nccl-|creating shared memory segment \/dev\/shm\/nccl-/,
      ),
  },
});

const isOlderThan = (driver: string | undefined, floor: string | undefined): boolean =>
  driver !== undefined && floor !== undefined && compareDotted(driver, floor) < 0;

/** Causes that stop a model server over several machines, regardless of the server's owner. */
export const workloadCauses = {
  fabricSlow: {
    symptom:
      "a model over several machines does not come up: its pods stay in Init, and measure the network between them again and again",
    cause:
      "the all-reduce over the model's cards is slower than workloads.vllm.fabric.leastBandwidth. Possible reasons: a link with reduced speed, NCCL on the wrong interface, or a minimum that this network cannot reach",
    remedy:
      "compare the link's speed with its nominal speed (`talosctl get linkstatus`), name the interface in workloads.vllm.fabric.settings (NCCL_SOCKET_IFNAME), or lower workloads.vllm.fabric.leastBandwidth",
    errors: ["fabric: all-reduce over … machines, … cards: … GB/s, below the floor of … GB/s"],
    source:
      "components/workloads/fabric.ts on two H100s: 295 GB/s by NVLink, 2 to 3 GB/s by NCCL's sockets",
    texts: /below the floor of [\d.]+ GB\/s/,
  },
  fabricApart: {
    symptom:
      "a model over several machines does not come up: its pods stay in Init, or are replaced after an hour",
    cause:
      "the model's pods do not reach each other: a network policy keeps them apart, NCCL is configured for an interface that the pods lack, or one pod is not scheduled",
    remedy:
      "check whether a pod of the group is Pending. Allow the pods of the namespace to reach each other at every port, because NCCL and Gloo use any port. If NCCL finds no interface, remove NCCL_SOCKET_IFNAME from workloads.vllm.fabric.settings, or set it to the pods' interface",
    errors: [
      "fabric: not all of the … machines connected to … within … s",
      "Bootstrap : no socket interface found",
    ],
    source:
      "components/workloads/fabric.ts on two H100s with PyTorch 2.11; docs.nvidia.com/deeplearning/nccl, environment variables",
    texts:
      /fabric: not all of (?:the )?\d+ machines (?:connected|came)|Bootstrap : no socket interface found/,
  },
  groupWebhooks: {
    symptom: "LeaderWorkerSets and their pods are not created",
    cause:
      "LeaderWorkerSet's controller answers the webhooks. The controller does not run, or the API server does not reach it",
    remedy:
      "check why the pod lws-controller-manager in the namespace lws-system does not run, and whether a network policy blocks the control planes",
    errors: [
      'failed calling webhook "mleaderworkerset.kb.io"',
      'failed calling webhook "mpod.kb.io"',
    ],
    source:
      "kubernetes-sigs/lws v0.9.0, charts/lws/templates/webhook/webhook.yaml (failurePolicy: Fail)",
    texts: /failed calling webhook "[mv](leaderworkerset|pod)\.kb\.io"/,
  },
} satisfies Record<string, Cause>;
