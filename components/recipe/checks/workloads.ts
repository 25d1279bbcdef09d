import { architectureOf, isOfArm64, lastCudaOf } from "../facts/card";
import { amd64 } from "../facts/data/images.json";
import { comfyUiImage, cudaFloor, cudaOfImage, isForwardCompatible, newerCuda } from "../facts/cuda";
import { wayOf } from "../facts/way";
import { compareDotted, majorOf } from "../facts/version";
import { namesSecret, secretIn } from "../rules";
import { fieldOf } from "../stack/plain-data";
import { gpuRequests, languageServers, namespacesMade } from "../stack/workloads";
import { type CheckedMachine, type Checks, complaint, type Found, ofGpuRequests } from "./check";
import { machinesFor, mayMatch } from "./placement";

/** Workloads: their images, their places and their namespaces. */
export const workloadChecks: Checks = {
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
      const things = { cuda, floor, machine: old, older: majorOf(cuda) - 1 };
      if (old) return complaint(field, spec.driver?.branch ? "cuda-image/branch" : "cuda-image/driver", things);
      const dropped = gpuMachines
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(majorOf(cuda).toString(), majorOf(lastCudaOf(card) ?? "99").toString()) > 0);
      return dropped && complaint(field, "cuda-image/dropped", { cuda, ...dropped, last: lastCudaOf(dropped.card) });
    });
  },
  "image-architecture": ofGpuRequests((request, context) => {
    const ours = request.field.startsWith("workloads.comfyui") ? comfyUiImage(context.plan.kubernetes.cudaVersion) : "";
    const image = request.image ?? ours;
    const machines = machinesFor(request, context);
    return (
      amd64.some((name) => image.replace(/^docker\.io\//, "").startsWith(`${name}:`)) &&
      machines.length > 0 &&
      machines.every(({ cards }) => cards.some(isOfArm64)) &&
      complaint(".image", "image-architecture", { image, machines: machines.map(({ name }) => name) })
    );
  }),
  "cuda-architecture": ofGpuRequests((request, context) => {
    const cuda = request.image && frameworks.test(request.image) ? cudaOfImage(request.image) : undefined;
    if (!cuda) return [];
    const young = machinesFor(request, context)
      .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
      .find(({ card }) => compareDotted(cuda, architectureOf(card).firstCuda) < 0);
    return young && complaint(".image", "cuda-architecture", { cuda, ...young, known: architectureOf(young.card) });
  }),
  "visible-devices": ({ spec }) =>
    Object.entries(spec.workloads?.pods ?? {})
      .filter(([, pod]) => pod.env?.["NVIDIA_VISIBLE_DEVICES"] !== undefined)
      .map(([name]) => complaint(`workloads.pods.${name}.env.NVIDIA_VISIBLE_DEVICES`, "visible-devices")),
  litellm: ({ spec }) => {
    const { litellm } = spec.workloads ?? {};
    if (litellm === undefined || litellm.active === false) return [];
    const [server, ...others] = languageServers(spec);
    if (server === undefined) return complaint("workloads.litellm", "litellm/no-server");
    const isEmpty = [server, ...others].every(({ models }) => models.length === 0);
    return isEmpty && complaint("workloads.litellm", "litellm/no-models", { server });
  },
  "pod-node-selector": ofGpuRequests(({ nodeSelector = {} }, { gpuMachines }) => {
    const wrong = gpuMachines.length > 0 ? unmet(nodeSelector, gpuMachines) : undefined;
    return wrong && complaint(`.nodeSelector.${wrong[0]}`, "pod-node-selector", { label: wrong.join("=") });
  }),
  "workload-namespaces": ({ spec, plan }) => {
    const { external, leaderWorkerSet, mode, namespace: own, namespaceLabels, release } = plan.kubernetes;
    const chart = wayOf(mode).words;
    const taken = new Map<string, string>([
      [own, external ? "is made for the stack's own pods as well" : `is made by the ${chart}'s release as well`],
      ...(external || namespaceLabels === undefined
        ? [
            [
              release.namespace,
              "is there already, since somebody else's release that offers the GPUs is in it",
            ] as const,
          ]
        : []),
      ...(leaderWorkerSet ? [[leaderWorkerSet.namespace, "is made for LeaderWorkerSet as well"] as const] : []),
      ...given.map((name) => [name, "is there in every cluster"] as const),
    ]);
    return namespacesMade(spec).flatMap(({ workload, namespace }) => {
      const field = `${workload.field}${workload.kind === "pods" ? "" : ".namespace"}`;
      const words = taken.get(namespace);
      if (words === undefined) taken.set(namespace, `is made by ${workload.field} as well`);
      return words !== undefined && complaint(field, "workload-namespaces", { namespace, words });
    });
  },
  "plain-secret": ({ spec }) => [...texts(spec, [])].map(([path, text]) => secretAt(path, text)),
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

function secretAt(path: PropertyKey[], text: string): Found {
  const isVariable = path.at(-2) === "env" && namesSecret(String(path.at(-1)));
  const kind = secretIn(text) ?? (isVariable && !noValue.test(text) ? "a secret" : undefined);
  const field = fieldOf(path);
  return kind !== undefined && !toldElsewhere.test(field) && complaint(field, "plain-secret", { kind });
}

/** Every text of a value with its path. */
function* texts(value: unknown, path: PropertyKey[]): Generator<[PropertyKey[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
}
