import { architectureOf, isOfArm64, lastCudaOf } from "../facts/card";
import { processors } from "../facts/data/images.json";
import { cudaFloor, cudaOfImage, isForwardCompatible, newerCuda } from "../facts/cuda";
import { gpuProviderOf } from "../facts/gpu-provider";
import { compareDotted, majorOf } from "../facts/version";
import { namesSecret, secretIn } from "../rules";
import { fieldOf } from "../stack/plain-data";
import { gpuRequests, languageServers, namespacesMade } from "../stack/workloads";
import { defaultImages } from "../stack/workloads/default-images";
import { type CheckedMachine, type Checks, type Found, ofGpuRequests } from "./check";
import { machinesFor, mayMatch } from "./placement";

/** Workloads: their images, their places and their namespaces. */
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
        const floor = cuda && cudaFloor(cuda);
        if (!cuda || !floor) return [];
        // Of data-center cards the check cuda-compat tells.
        const old = gpuMachines.find(
          (machine) => newerCuda(image, machine) && !isForwardCompatible(machine),
        );
        if (old?.driverVersion !== undefined)
          return {
            field,
            problem: `its CUDA ${cuda} needs driver ${floor}, but ${old.name} runs ${old.driverVersion}`,
            why: "CUDA fails to initialize: the driver is insufficient for the runtime",
            remedy: spec.driver?.branch
              ? `take an image of CUDA ${majorOf(cuda) - 1}, or another driver.branch or a newer Talos version`
              : `take an image of CUDA ${majorOf(cuda) - 1}, or a newer Talos version`,
          };
        const dropped = gpuMachines
          .flatMap((machine) =>
            machine.cards.map((card) => ({ machine, card, last: lastCudaOf(card) ?? "99" })),
          )
          .find(({ last }) => majorOf(cuda) > majorOf(last));
        return (
          dropped && {
            field,
            problem: `its CUDA ${cuda} no longer knows the ${dropped.card.model} (${dropped.card.architecture}) of ${dropped.machine.name}`,
            why: "the image holds no code for the card: no kernel image is available for execution on the device",
            remedy: `take an image of CUDA ${dropped.last} or older`,
          }
        );
      });
    },
  },
  "image-architecture": {
    rule: "Each image is built for the processors of its machines, unless the tables lack it",
    source: "facts/data/images.json",
    ofFiles: true,
    find: ofGpuRequests((request, context) => {
      const byDefault = defaultImages[request.kind]?.(context.plan.kubernetes.cudaVersion);
      const image = request.image ?? byDefault ?? "";
      const machines = machinesFor(request, context);
      return (
        processors.amd64.some((name) =>
          image.replace(/^docker\.io\//, "").startsWith(`${name}:`),
        ) &&
        machines.length > 0 &&
        machines.every(({ cards }) => cards.some(isOfArm64)) && {
          field: ".image",
          problem: `${image} is built only for amd64, and ${machines.map(({ name }) => name).join(", ")} has an arm64 processor`,
          why: "the image is not pulled, or its program does not start: exec format error",
          remedy:
            "name one that is built for arm64, or lead the workload to another machine by nodeSelector",
        }
      );
    }),
  },
  "cuda-architecture": {
    rule: "The CUDA of each image is new enough for the cards",
    source:
      "CUDA 12.8 release notes (first for Blackwell); PyTorch wheels hold no PTX for architectures to come",
    ofFiles: true,
    find: ofGpuRequests((request, context) => {
      const cuda =
        request.image && frameworks.test(request.image) ? cudaOfImage(request.image) : undefined;
      if (!cuda) return [];
      const young = machinesFor(request, context)
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(cuda, architectureOf(card).firstCuda) < 0);
      return (
        young && {
          field: ".image",
          problem: `its CUDA ${cuda} does not know the ${young.card.model} (${young.card.architecture}) of ${young.machine.name} yet`,
          why: "the image holds no code for the card: no kernel image is available for execution on the device",
          remedy: `take an image of CUDA ${architectureOf(young.card).firstCuda} or newer`,
        }
      );
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
          problem: "is set on a pod that requests the resource",
          why: "it overrides the card that the device plugin handed out: the container sees others, too",
          remedy: "leave it out: the number that the pod requests says how many it gets",
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
      const [server, ...others] = languageServers(spec);
      if (server === undefined)
        return {
          field: "workloads.litellm",
          problem: "is there, but neither ollama nor vllm runs",
          why: "it would have no model to route to",
          remedy: "add workloads.ollama or workloads.vllm, or make litellm `active: false`",
        };
      const isEmpty = [server, ...others].every(({ models }) => models.length === 0);
      return (
        isEmpty && {
          field: "workloads.litellm",
          problem: "is there, but ollama has no models",
          why: "it would have no model to route to",
          remedy: `name them under ${server.field}.models`,
        }
      );
    },
  },
  "pod-node-selector": {
    rule: "Each node selector matches a GPU machine",
    source: "Kubernetes: a pod whose node selector fits no node stays Pending",
    ofFiles: true,
    find: ofGpuRequests(({ nodeSelector = {} }, { gpuMachines }) => {
      const wrong = gpuMachines.length > 0 ? unmet(nodeSelector, gpuMachines) : undefined;
      return (
        wrong && {
          field: `.nodeSelector.${wrong[0]}`,
          problem: `no GPU machine of the stack has ${wrong.join("=")}`,
          why: "the pod fits no node and stays Pending forever",
          remedy:
            "leave it out (GPU pods are placed by nvidia.com/gpu.present), or label a machine under machines.<name>.labels",
        }
      );
    }),
  },
  "workload-namespaces": {
    rule: "No two workloads or charts create the same namespace",
    source: "Kubernetes: a namespace is made once (AlreadyExists); components/workloads",
    ofFiles: true,
    find: ({ spec, plan }) => {
      const {
        external,
        leaderWorkerSet,
        mode,
        namespace: own,
        namespaceLabels,
        release,
      } = plan.kubernetes;
      const chart = gpuProviderOf(mode).words;
      const taken = new Map<string, string>([
        [
          own,
          external
            ? "is made for the stack's own pods as well"
            : `is made by the ${chart}'s release as well`,
        ],
        ...(external || namespaceLabels === undefined
          ? [
              [
                release.namespace,
                "is there already, since another tool's release that offers the GPUs is in it",
              ] as const,
            ]
          : []),
        ...(leaderWorkerSet
          ? [[leaderWorkerSet.namespace, "is made for LeaderWorkerSet as well"] as const]
          : []),
        ...given.map((name) => [name, "is there in every cluster"] as const),
      ]);
      return namespacesMade(spec).flatMap(({ workload, namespace }) => {
        const field = `${workload.field}${workload.kind === "pods" ? "" : ".namespace"}`;
        const words = taken.get(namespace);
        if (words === undefined) taken.set(namespace, `is made by ${workload.field} as well`);
        return (
          words !== undefined && {
            field,
            problem: `${namespace} ${words}`,
            why: "the workload creates and deletes its namespace itself, so the update would fail with AlreadyExists",
            remedy: "take a namespace of its own, or leave it out",
          }
        );
      });
    },
  },
  "plain-secret": {
    rule: "No field of a stack holds a secret in plain text",
    source:
      "a stack file is committed, and what it says is in Pulumi's state and in the objects that are made of it",
    ofFiles: true,
    find: ({ spec }) => [...texts(spec, [])].map(([path, text]) => secretAt(path, text)),
  },
} satisfies Checks;

/** Images that carry a framework built for fixed architectures, with no code that a newer driver could translate. */
export const frameworks = /torch|comfy|vllm|tensorrt/i;

/**
 * The first label of a selector that no GPU machine has together with those before it; undefined when one may have
 * them all.
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
const given = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Texts that mean no value, or that name a file with the value. */
const noValue = /^(?:|none|empty|dummy|unused|changeme|true|false|\/.*|\$\(.*\))$/i;

/** Fields that have a check of their own, with a better remedy. */
const toldElsewhere = /^(?:patches|machines\.[^[]*\.patches|workloads\.vllm\.args)\b/;

function secretAt(path: PropertyKey[], text: string): Found {
  const isVariable = path.at(-2) === "env" && namesSecret(String(path.at(-1)));
  const kind = secretIn(text) ?? (isVariable && !noValue.test(text) ? "a secret" : undefined);
  const field = fieldOf(path);
  return (
    kind !== undefined &&
    !toldElsewhere.test(field) && {
      field,
      problem: `holds ${kind}`,
      why: "it would stand in plain text in the stack file, in Pulumi's state and in the cluster",
      remedy:
        "take a new one, and keep it in a Kubernetes Secret (of vLLM by huggingFaceToken, else by a pod of your own program)",
    }
  );
}

/** Every text of a value with its path. */
function* texts(value: unknown, path: PropertyKey[]): Generator<[PropertyKey[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
}
