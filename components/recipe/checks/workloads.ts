import { architectureOf, lastCudaOf } from "../facts/card";
import { cudaFloor, cudaOfImage, isForwardCompatible, newerCuda } from "../facts/cuda";
import { wayOf } from "../facts/way";
import { compareDotted, majorOf } from "../facts/version";
import { namesSecret, secretIn } from "../rules";
import { fieldOf } from "../stack/plain-data";
import { gpuRequests, languageServers, namespacesMade, workloadsOfKind } from "../stack/workloads";
import { type CheckedMachine, type Checks, type Found, ofGpuRequests } from "./check";
import { machinesFor, mayMatch } from "./placement";

/** Workloads: their images, their places and their namespaces. */
export const workloadChecks: Checks = {
  /**
   * Driver and card can run the CUDA of each image. Source: docs.nvidia.com/deploy/cuda-compatibility, minor version and forward
   * compatibility; CUDA 13 release notes (dropped architectures).
   */
  "cuda-image": (context) => {
    const { spec, plan } = context;
    const images = [
      ...gpuRequests(spec).flatMap((request) =>
        request.image
          ? { field: `${request.field}.image`, image: request.image, gpuMachines: machinesFor(request, context) }
          : [],
      ),
      { field: "smokeTestImage", image: plan.kubernetes.smokeTestImage, gpuMachines: context.gpuMachines },
    ];
    return images.flatMap(({ field, image, gpuMachines }) => {
      const cuda = cudaOfImage(image);
      const floor = cuda && cudaFloor(cuda);
      if (!cuda || !floor) return [];
      // Of data-center cards a note tells (notes.ts).
      const old = gpuMachines.find((machine) => newerCuda(image, machine) && !isForwardCompatible(machine));
      if (old)
        return {
          field,
          problem: `its CUDA ${cuda} needs driver ${floor}, but ${old.name} runs ${old.driverVersion}`,
          why: "CUDA fails to initialize: the driver is insufficient for the runtime",
          remedy: `take an image of CUDA ${majorOf(cuda) - 1}, or ${spec.driver?.branch ? "another driver.branch or " : ""}a newer Talos release`,
        };
      const dropped = gpuMachines
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(majorOf(cuda).toString(), majorOf(lastCudaOf(card) ?? "99").toString()) > 0);
      if (!dropped) return [];
      return {
        field,
        problem: `its CUDA ${cuda} no longer knows the ${dropped.card.model} (${dropped.card.architecture}) of ${dropped.machine.name}`,
        why: "the image holds no code for the card: no kernel image is available for execution on the device",
        remedy: `take an image of CUDA ${lastCudaOf(dropped.card)} or older`,
      };
    });
  },
  /**
   * The CUDA of each image knows the cards' architecture already. Source: CUDA 12.8 release notes (first for Blackwell); PyTorch wheels
   * hold no PTX for architectures to come.
   */
  "cuda-architecture": ofGpuRequests((request, context) => {
    const cuda = request.image && frameworks.test(request.image) ? cudaOfImage(request.image) : undefined;
    if (!cuda) return [];
    const young = machinesFor(request, context)
      .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
      .find(({ card }) => compareDotted(cuda, architectureOf(card).firstCuda) < 0);
    if (!young) return [];
    return {
      field: ".image",
      problem: `its CUDA ${cuda} does not know the ${young.card.model} (${young.card.architecture}) of ${young.machine.name} yet`,
      why: "the image holds no code for the card: no kernel image is available for execution on the device",
      remedy: `take an image of CUDA ${architectureOf(young.card).firstCuda} or newer`,
    };
  }),
  /**
   * No pod overrides the card that it was given. Source: Kubernetes, pkg/kubelet/kubelet_pods.go: the pod's environment comes after the
   * device plugin's.
   */
  "visible-devices": ({ spec }) =>
    Object.entries(spec.workloads?.pods ?? {})
      .filter(([, pod]) => pod.env?.["NVIDIA_VISIBLE_DEVICES"] !== undefined)
      .map(([name]) => ({
        field: `workloads.pods.${name}.env.NVIDIA_VISIBLE_DEVICES`,
        problem: "is set on a pod that requests the resource",
        why: "it overrides the card that the device plugin handed out: the container sees others, too",
        remedy: "leave it out: the number that the pod requests says how many it gets",
      })),
  /**
   * Models are not pulled by a postStart hook where that kills the container. Source: siderolabs/extensions#940: reported for a postStart
   * hook's exec; gone with Talos 1.13.
   */
  "ollama-pull": ({ spec, plan }) =>
    workloadsOfKind(spec, "ollama")
      .filter(
        ({ said: { pullBy, models = [] } }) => pullBy === "postStart" && plan.era === "legacy" && models.length > 0,
      )
      .map(({ field }) => ({
        field: `${field}.pullBy`,
        problem: "postStart on Talos ≤ 1.12",
        why: "the hook's exec fails in a GPU container there, so Kubernetes kills ollama seconds after it started, again and again",
        remedy: "leave it out: a job pulls the models once the server runs",
      })),
  /**
   * LiteLLM has models to route to. Source: litellm, docs/my-website/docs/providers/ollama.md: a model list names the server of each
   * model.
   */
  litellm: ({ spec }) => {
    const { litellm } = spec.workloads ?? {};
    if (litellm === undefined || litellm.active === false) return [];
    const complaint = (problem: string, remedy: string) => ({
      field: "workloads.litellm",
      problem,
      why: "it would have no model to route to",
      remedy,
    });
    const servers = languageServers(spec);
    if (servers.length === 0)
      return complaint(
        "is there, but neither ollama nor vllm runs",
        "add workloads.ollama or workloads.vllm, or make litellm `active: false`",
      );
    return servers.every(({ models }) => models.length === 0)
      ? complaint("is there, but ollama has no models", `name them under ${servers[0]!.field}.models`)
      : [];
  },
  /** A node selector fits a GPU machine. Source: Kubernetes: a pod whose node selector fits no node stays Pending. */
  "pod-node-selector": ofGpuRequests(({ nodeSelector = {} }, { gpuMachines }) => {
    const wrong = gpuMachines.length > 0 ? unmet(nodeSelector, gpuMachines) : undefined;
    return (
      wrong && {
        field: `.nodeSelector.${wrong[0]}`,
        problem: `no GPU machine of the stack has ${wrong[0]}=${wrong[1]}`,
        why: "the pod fits no node and stays Pending for ever",
        remedy:
          "leave it out (GPU pods are placed by nvidia.com/gpu.present), or label a machine under machines.<name>.labels",
      }
    );
  }),
  /** No namespace is made by two. Source: Kubernetes: a namespace is made once (AlreadyExists); components/workloads. */
  "workload-namespaces": ({ spec, plan }) => {
    const { external, mode, namespace: own, namespaceLabels, release } = plan.kubernetes;
    const chart = wayOf(mode).words;
    const theirs = "is there already, since somebody else's release that offers the GPUs is in it";
    const taken = new Map<string, string>([
      [own, external ? "is made for the stack's own pods as well" : `is made by the ${chart}'s release as well`],
      ...(external || namespaceLabels === undefined ? [[release.namespace, theirs] as const] : []),
      ...given.map((name) => [name, "is there in every cluster"] as const),
    ]);
    return namespacesMade(spec).flatMap(({ workload, namespace }) => {
      const field = `${workload.field}${workload.kind === "pods" ? "" : ".namespace"}`;
      const words = taken.get(namespace);
      if (words === undefined) taken.set(namespace, `is made by ${workload.field} as well`);
      const problem = words && `${namespace} ${words}`;
      if (problem === undefined) return [];
      const why = "the workload creates and deletes its namespace itself, so the update would fail with AlreadyExists";
      return { field, problem, why, remedy: "take a namespace of its own, or leave it out" };
    });
  },
  /**
   * No field of a stack holds a secret in plain text. Source: a stack file is committed, and what it says is in Pulumi's state and in the
   * objects that are made of it.
   */
  "plain-secret": ({ spec }) => [...texts(spec, [])].flatMap(([path, text]) => complaint(path, text)),
};

/** Images that carry a framework built for fixed architectures, with no code that a newer driver could translate. */
const frameworks = /torch|comfy|vllm|tensorrt/i;

/** The first label of a selector that no GPU machine has together with those before it; undefined when one may have them all. */
function unmet(selector: Record<string, string>, gpuMachines: CheckedMachine[]): [string, string] | undefined {
  const labels = Object.entries(selector);
  return labels.find((_, index) => {
    const soFar = Object.fromEntries(labels.slice(0, index + 1));
    return !gpuMachines.some((machine) => mayMatch(machine, soFar));
  });
}

/** Namespaces that every cluster has. Source: kubernetes v1.36.3, pkg/controlplane/controller/systemnamespaces. */
const given = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** What stands for a value that is not there, or names a file that holds it. */
const noValue = /^(?:|none|empty|dummy|unused|changeme|true|false|\/.*|\$\(.*\))$/i;

/** Fields that have a check of their own, with a better remedy. */
const toldElsewhere = /^(?:patches|machines\.[^[]*\.patches|workloads\.vllm\.args)\b/;

function complaint(path: PropertyKey[], text: string): Found {
  const isVariable = path.at(-2) === "env" && namesSecret(String(path.at(-1)));
  const kind = secretIn(text) ?? (isVariable && !noValue.test(text) ? "a secret" : undefined);
  if (kind === undefined) return [];
  const field = fieldOf(path);
  if (toldElsewhere.test(field)) return [];
  return {
    field,
    problem: `holds ${kind}`,
    why: "it would stand in plain text in the stack file, in Pulumi's state and in the cluster",
    remedy:
      "take a new one, and keep it in a Kubernetes Secret (vLLM: huggingFaceToken; else a pod of your own program)",
  };
}

/** Every text of a value with its path. */
function* texts(value: unknown, path: PropertyKey[]): Generator<[PropertyKey[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
}
