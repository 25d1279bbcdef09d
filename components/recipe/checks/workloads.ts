import { architectureOf, isOfArm64, lastCudaOf } from "../facts/card";
import { processors } from "../facts/data/images.json";
import { oldestDriverForCuda, cudaOfImage, isForwardCompatible, newerCuda } from "../facts/cuda";
import { gpuProviderOf } from "../facts/gpu-provider";
import { compareDotted, majorOf } from "../facts/version";
import { namesSecret, secretIn } from "../rules";
import { fieldOf } from "../stack/plain-data";
import { gpuRequests, languageServers, namespacesMade, type Workload } from "../stack/workloads";
import { defaultImages } from "../stack/workloads/default-images";
import { type CheckedMachine, type Checks, type Found, findPerGpuRequest } from "./check";
import { machinesFor, mayMatch } from "./placement";

/** Checks of workloads: their images, the machines that they fit on, and their namespaces. */
export const workloadChecks = {
  "cuda-image": {
    rule: "Driver and card support the CUDA of each image",
    source:
      "docs.nvidia.com/deploy/cuda-compatibility, minor version and forward compatibility; CUDA 13 release notes (dropped architectures)",
    ofFiles: true,
    find: (context) => {
      const { spec, plan } = context;
      const images = [
        ...gpuRequests(spec).flatMap((request) =>
          request.image
            ? {
                field: `${request.field}.image`,
                image: request.image,
                gpuMachines: machinesFor(request, context),
              }
            : [],
        ),
        {
          field: "smokeTestImage",
          image: plan.kubernetes.smokeTestImage,
          gpuMachines: context.gpuMachines,
        },
      ];
      return images.flatMap(({ field, image, gpuMachines }) => {
        const cuda = cudaOfImage(image);
        const floor = cuda && oldestDriverForCuda(cuda);
        if (!cuda || !floor) return [];
        // The check cuda-compat reports data-center cards.
        const machineWithOldDriver = gpuMachines.find(
          (machine) => newerCuda(image, machine) && !isForwardCompatible(machine),
        );
        if (machineWithOldDriver?.driverVersion !== undefined)
          return {
            field,
            problem: `its CUDA ${cuda} needs driver ${floor}, but ${machineWithOldDriver.name} runs ${machineWithOldDriver.driverVersion}`,
            why: "CUDA fails to initialize: the driver is insufficient for the runtime",
            remedy: spec.driver?.branch
              ? `use an image of CUDA ${majorOf(cuda) - 1}, another driver.branch or a newer Talos version`
              : `use an image of CUDA ${majorOf(cuda) - 1}, or a newer Talos version`,
          };
        const unsupportedCard = gpuMachines
          .flatMap((machine) =>
            machine.cards.map((card) => ({ machine, card, last: lastCudaOf(card) ?? "99" })),
          )
          .find(({ last }) => majorOf(cuda) > majorOf(last));
        return unsupportedCard
          ? {
              field,
              problem: `its CUDA ${cuda} no longer supports the ${unsupportedCard.card.model} (${unsupportedCard.card.architecture}) of ${unsupportedCard.machine.name}`,
              why: 'the image contains no code for the card, so programs fail with CUDA\'s error "no kernel image is available for execution on the device"',
              remedy: `use an image of CUDA ${unsupportedCard.last} or older`,
            }
          : undefined;
      });
    },
  },
  "image-architecture": {
    rule: "No pod that can run only on arm64 machines has an image that is built only for amd64",
    source: "facts/data/images.json",
    ofFiles: true,
    find: findPerGpuRequest((request, context) => {
      const defaultImage = defaultImages[request.kind]?.(context.plan.kubernetes.cudaVersion);
      const image = request.image ?? defaultImage ?? "";
      const machines = machinesFor(request, context);
      return processors.amd64.some((name) =>
        image.replace(/^docker\.io\//, "").startsWith(`${name}:`),
      ) &&
        machines.length > 0 &&
        machines.every(({ cards }) => cards.some(isOfArm64))
        ? {
            field: ".image",
            problem: `${image} is built only for amd64, not for the arm64 processor of ${machines.map(({ name }) => name).join(", ")}`,
            why: "the machine cannot pull the image, or its program does not start: exec format error",
            remedy:
              "name an image that is built for arm64, or select another machine by nodeSelector",
          }
        : undefined;
    }),
  },
  "cuda-architecture": {
    rule: "The CUDA of each image with a framework (PyTorch, vLLM, ComfyUI, TensorRT) is new enough for the cards",
    source:
      "CUDA 12.8 release notes (first for Blackwell); PyTorch wheels contain no PTX for future architectures",
    ofFiles: true,
    find: findPerGpuRequest((request, context) => {
      const cuda =
        request.image && frameworks.test(request.image) ? cudaOfImage(request.image) : undefined;
      if (!cuda) return [];
      const tooNewCard = machinesFor(request, context)
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(cuda, architectureOf(card).firstCuda) < 0);
      return tooNewCard
        ? {
            field: ".image",
            problem: `its CUDA ${cuda} does not yet support the ${tooNewCard.card.model} (${tooNewCard.card.architecture}) of ${tooNewCard.machine.name}`,
            why: 'the image contains no code for the card, so programs fail with CUDA\'s error "no kernel image is available for execution on the device"',
            remedy: `use an image of CUDA ${architectureOf(tooNewCard.card).firstCuda} or newer`,
          }
        : undefined;
    }),
  },
  "visible-devices": {
    rule: "No pod overrides the device plugin's choice of card",
    source:
      "Kubernetes, pkg/kubelet/kubelet_pods.go: the pod's environment comes after the device plugin's",
    ofFiles: true,
    find: ({ spec }) =>
      Object.entries(spec.workloads?.pods ?? {})
        .filter(([, pod]) => pod.env?.["NVIDIA_VISIBLE_DEVICES"] !== undefined)
        .map(([name]) => ({
          field: `workloads.pods.${name}.env.NVIDIA_VISIBLE_DEVICES`,
          problem: "is set on a pod that requests GPUs",
          why: "it overrides the device plugin's choice of card, so the container also sees cards of other pods",
          remedy: "leave it out, and set the number of GPUs with the pod's field `gpus`",
        })),
  },
  litellm: {
    rule: "LiteLLM has at least one model to route to",
    source:
      "litellm, docs/my-website/docs/providers/ollama.md: a model list names the server of each model",
    ofFiles: true,
    find: ({ spec }) => {
      const { litellm } = spec.workloads ?? {};
      if (litellm === undefined || litellm.active === false) return [];
      const [server, ...otherServers] = languageServers(spec);
      if (server === undefined)
        return {
          field: "workloads.litellm",
          problem: "is set, but neither ollama nor vllm runs",
          why: "LiteLLM would have no model to route to",
          remedy: "add workloads.ollama or workloads.vllm, or write `active: false` for litellm",
        };
      const isEmpty = [server, ...otherServers].every(({ models }) => models.length === 0);
      return isEmpty
        ? {
            field: "workloads.litellm",
            problem: "is set, but ollama has no models",
            why: "LiteLLM would have no model to route to",
            remedy: `name them under ${server.field}.models`,
          }
        : undefined;
    },
  },
  "pod-node-selector": {
    rule: "Each node selector matches a GPU machine",
    source: "Kubernetes: a pod whose node selector fits no node stays Pending",
    ofFiles: true,
    find: findPerGpuRequest(({ nodeSelector = {} }, { gpuMachines }) => {
      const unmetLabel = gpuMachines.length > 0 ? unmet(nodeSelector, gpuMachines) : undefined;
      return unmetLabel
        ? {
            field: `.nodeSelector.${unmetLabel[0]}`,
            problem: `no GPU machine of the stack has ${unmetLabel.join("=")}`,
            why: "no node matches the selector, so the pod stays Pending forever",
            remedy:
              "leave it out (GPU pods already select nvidia.com/gpu.present), or label a machine under machines.<name>.labels",
          }
        : undefined;
    }),
  },
  "workload-namespaces": {
    rule: "A workload creates no namespace that exists already, or that a chart or another workload creates",
    source:
      "Kubernetes refuses to create a namespace that exists (AlreadyExists); components/workloads",
    ofFiles: true,
    find: ({ spec, plan }) => {
      const {
        external,
        leaderWorkerSet,
        mode,
        namespace: ownNamespace,
        namespaceLabels,
        release,
      } = plan.kubernetes;
      const providerText = gpuProviderOf(mode).words;
      const takenNamespaces = new Map<string, string>([
        [
          ownNamespace,
          external
            ? "is also created for the stack's own pods"
            : `is also created by the release of the ${providerText}`,
        ],
        ...(external || namespaceLabels === undefined
          ? [
              [
                release.namespace,
                "already exists, because the external GPU provider is in it",
              ] as const,
            ]
          : []),
        ...(leaderWorkerSet
          ? [[leaderWorkerSet.namespace, "is also created for LeaderWorkerSet"] as const]
          : []),
        ...namespacesOfKubernetes.map((name) => [name, "exists in every cluster"] as const),
      ]);
      return namespacesMade(spec).flatMap(({ workload, namespace }) => {
        const field = `${workload.field}${workload.kind === "pods" ? "" : ".namespace"}`;
        const reason = takenNamespaces.get(namespace);
        if (reason === undefined)
          takenNamespaces.set(namespace, `is also created by ${workload.field}`);
        return reason !== undefined
          ? {
              field,
              problem: `${namespace} ${reason}`,
              why: "the workload creates and deletes its namespace itself, so the update would fail with AlreadyExists",
              remedy: remedyForNamespace(workload),
            }
          : undefined;
      });
    },
  },
  "plain-secret": {
    rule: "No field of a stack contains a secret in plain text",
    source:
      "a stack file is committed, and Pulumi's state and the stack's objects contain its values",
    ofFiles: true,
    find: ({ spec }) => [...texts(spec, [])].map(([path, text]) => secretAt(path, text)),
  },
} satisfies Checks;

/** Remedy for a workload whose namespace something else creates. */
function remedyForNamespace({ kind, spec }: Workload): string {
  if (kind === "pods")
    return "set `namespace` in each of these pods to a namespace that exists before the update";
  if ((spec as { namespace?: string }).namespace !== undefined)
    return "name a namespace that only this workload uses, or leave this field out";
  return kind === "vllm"
    ? "set this field to a namespace that exists before the update"
    : "set this field to a namespace that only this workload uses";
}

/**
 * Pattern of images whose framework is built for certain GPU architectures only. A driver cannot compile the code in
 * these images for newer architectures.
 */
export const frameworks = /torch|comfy|vllm|tensorrt/i;

/**
 * The first label of a selector with which no GPU machine is left. Undefined if at least one GPU machine may have all
 * labels.
 */
function unmet(
  selector: Record<string, string>,
  gpuMachines: CheckedMachine[],
): [string, string] | undefined {
  const labels = Object.entries(selector);
  return labels.find((_, index) => {
    const soFar = Object.fromEntries(labels.slice(0, index + 1));
    return !gpuMachines.some((machine) => mayMatch(machine, soFar));
  });
}

/** Namespaces that every cluster has. Source: kubernetes v1.36.3, pkg/controlplane/controller/systemnamespaces. */
const namespacesOfKubernetes = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Pattern of texts that mean no value, or that name a file or variable with the value. */
const noValue = /^(?:|none|empty|dummy|unused|changeme|true|false|\/.*|\$\(.*\))$/i;

/** Fields that another check covers, with a better remedy. */
const toldElsewhere = /^(?:patches|machines\.[^[]*\.patches|workloads\.vllm\.args)\b/;

function secretAt(path: PropertyKey[], text: string): Found {
  const isVariable = path.at(-2) === "env" && namesSecret(String(path.at(-1)));
  const kind = secretIn(text) ?? (isVariable && !noValue.test(text) ? "a secret" : undefined);
  const field = fieldOf(path);
  return kind !== undefined && !toldElsewhere.test(field)
    ? {
        field,
        problem: `contains ${kind}`,
        why: "the stack file, Pulumi's state and the cluster would contain it in plain text",
        remedy:
          "revoke this key or token, and keep a new one in a Kubernetes Secret (for vLLM, name that Secret in huggingFaceToken or apiKeySecret)",
      }
    : undefined;
}

/** Every text in a value, with its path. */
function* texts(value: unknown, path: PropertyKey[]): Generator<[PropertyKey[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
}
