import type { CheckContext, CheckedMachine, Checks, Found } from "./check";
import { ownClaim } from "../cluster/claim";
import { claimable, machinesFor, mayClaim, offers, resourceOf } from "./placement";
import { vllmImage } from "../facts/cuda";
import { type GpuRequest, gpuRequests, type Workload, workloadsOfKind } from "../stack/workloads";
import { compareDotted } from "../facts/version";
import { valueOfFlag, vllmSplit, withDashes } from "../facts/vllm";

/** Lowest compute capability of a card for which vLLM's images contain code. */
const oldest = "7.0";

/** Checks of the vLLM servers. */
export const vllmChecks = {
  vllm: {
    rule: "Each vLLM server fits the machines and cards, overrides no argument of the workload, and finds the Secrets that the server needs",
    source:
      "docs.vllm.ai, serve arguments, parallelism and GPU requirements; NVIDIA MIG user guide (no peer-to-peer between instances)",
    ofFiles: true,
    find: (context) =>
      workloadsOfKind(context.spec, "vllm").flatMap((server) => findingsOfServer(server, context)),
  },
} satisfies Checks;

function findingsOfServer({ field, spec: server }: Workload<"vllm">, context: CheckContext): Found {
  const { spec } = context;
  const { args = [], gpus = 1, machines = 1, huggingFaceToken, apiKeySecret, namespace } = server;
  const litellm = spec.workloads?.litellm;
  // The pod may run on any machine that is known to offer enough GPUs. A machine with an unknown number does not count.
  const request = gpuRequests(spec).find((candidate) => candidate.field === field)!;
  const tooOldCard = machinesFor(request, context)
    .filter(({ recipe }) => (recipe.allocatable[resourceOf(request, context)] ?? 0) >= gpus)
    .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
    .find(({ card }) => compareDotted(card.computeCapability, oldest) < 0);
  return [
    parallelism(field, server),
    machines > 1 && overMachines(field, server, request, context),
    reservedArguments(field, args),
    memoryUse(field, args),
    gpus * machines > 1 && spec.sharing?.mig !== undefined
      ? {
          field: `${field}.${gpus > 1 ? "gpus" : "machines"}`,
          problem: `splits one model over ${gpus * machines} MIG devices`,
          why: "tensor parallelism cannot start: a process sees only one MIG device, and MIG devices have no peer-to-peer connection",
          remedy: "request 1 device of a profile that is large enough, or leave sharing.mig out",
        }
      : undefined,
    huggingFaceToken !== undefined && namespace === undefined
      ? {
          field: `${field}.huggingFaceToken`,
          problem: "is set, but the stack creates the namespace of this workload",
          why: `the Secret ${huggingFaceToken.name} cannot exist before its namespace, so the pod would wait for the Secret (CreateContainerConfigError)`,
          remedy: `create a namespace with the Secret, and name the namespace in ${field}.namespace`,
        }
      : undefined,
    apiKeySecret !== undefined && [
      namespace === undefined
        ? {
            field: `${field}.apiKeySecret`,
            problem: "is set, but the stack creates the namespace of this workload",
            why: `the Secret ${apiKeySecret.name} cannot exist before its namespace, so the pod would wait for the Secret (CreateContainerConfigError)`,
            remedy: `create a namespace with the Secret, and name the namespace in ${field}.namespace`,
          }
        : undefined,
      // The namespace of LiteLLM exists before LiteLLM only with `masterKeySecret`. Only then can it already contain
      // the other Secret.
      server.active !== false &&
      litellm !== undefined &&
      litellm.active !== false &&
      litellm.masterKeySecret === undefined
        ? {
            field: "workloads.litellm.masterKeySecret",
            problem: `is not set, but ${field} needs a key (apiKeySecret)`,
            why: `clients could use the model through LiteLLM without a key, and LiteLLM's namespace, which this update creates, would lack the Secret ${apiKeySecret.name}`,
            remedy:
              "create a namespace with both Secrets, name the namespace in workloads.litellm.namespace, and name the Secret of LiteLLM's own key here",
          }
        : undefined,
    ],
    tooOldCard !== undefined
      ? {
          field,
          problem: `the ${tooOldCard.card.model} of ${tooOldCard.machine.name} has compute capability ${tooOldCard.card.computeCapability}`,
          why: `vLLM's images contain code only for compute capability ${oldest} and higher, so vLLM fails: no kernel image is available for execution on the device`,
          remedy: `select other machines by ${field}.nodeSelector, or use ollama on this card`,
        }
      : undefined,
  ];
}

/** Finding if the arguments split the model over another number of GPUs than the pods request. */
function parallelism(field: string, server: VllmServer): Found {
  const { gpus = 1, machines = 1 } = server;
  const { uses: usedGpus } = vllmSplit(server);
  const requestedGpus = gpus * machines;
  return usedGpus !== requestedGpus
    ? {
        field: `${field}.args`,
        problem:
          machines > 1
            ? `splits the model over ${usedGpus} GPUs, but the pods request ${requestedGpus}`
            : `splits the model over ${usedGpus} GPUs, but the pod requests ${requestedGpus}`,
        why: "with too few GPUs vLLM does not start, and with too many it leaves some idle",
        remedy:
          machines > 1
            ? `leave --tensor-parallel-size and the other parallel sizes out, because the stack sets these arguments. Or choose \`gpus\` and \`machines\` so that their product is ${usedGpus}`
            : `leave --tensor-parallel-size and the other parallel sizes out, because the stack sets these arguments. Or write \`gpus: ${usedGpus}\``,
      }
    : undefined;
}

type VllmServer = Workload<"vllm">["spec"];

/**
 * First vLLM release that knows --nnodes, and so runs on several machines without Ray: vllm#23691 was merged in
 * November 2025, after v0.11.0.
 */
const firstOverMachines = "0.11.1";

/**
 * Findings for a server that splits its model over several machines: too few machines fit, their cards differ, or vLLM
 * cannot run this way. Source: docs.vllm.ai, parallelism and scaling (tensor parallelism within a machine, pipeline
 * parallelism across); vllm, config/parallel.py (backends with --nnodes), v1/core/kv_cache_utils.py (the least memory
 * of all workers counts).
 */
function overMachines(
  field: string,
  server: VllmServer,
  request: GpuRequest,
  context: CheckContext,
): Found {
  const { gpus = 1, machines = 1, args = [] } = server;
  // A workload component without a GpuCluster knows no machines, so it cannot choose the image by them.
  const image =
    server.image ??
    (context.gpuMachines.length > 0 ? vllmImage(context.plan.kubernetes.cudaVersion) : "");
  const release = /(?:^|\/)vllm-openai:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  const { tensor } = vllmSplit(server);
  const offeredGpus = (machine: CheckedMachine): number =>
    context.spec.dra ? mayClaim(machine, request) : offers(machine, resourceOf(request, context));
  const fitting = machinesFor(request, context).filter((machine) => offeredGpus(machine) >= gpus);
  const { product, cel } = request.claim ?? {};
  const cards = [
    ...new Set(fitting.flatMap((machine) => claimable(machine, request).map(({ model }) => model))),
  ];
  const names = fitting.map(({ name }) => name).join(", ") || "none";
  return [
    tensor > gpus
      ? {
          field: `${field}.args`,
          problem: `splits each layer over ${tensor} GPUs, but a machine gives the model only ${gpus}`,
          why: "for each token, every layer would wait twice for the network between the machines",
          remedy: `leave --tensor-parallel-size out, or write ${gpus} or less`,
        }
      : undefined,
    context.gpuMachines.length > 0 && fitting.length < machines
      ? {
          field: `${field}.machines`,
          problem: `is ${machines}, but only ${fitting.length} of the stack's machines ${fitting.length === 1 ? "has" : "have"} the ${gpus} cards that each pod needs (${names})`,
          why: "each pod of the model needs its own machine, and all pods wait for the pod that stays Pending",
          remedy: "write a smaller number for `machines` or `gpus`, or add a machine",
        }
      : undefined,
    fitting.length >= machines &&
    cards.length > 1 &&
    (product ?? cel ?? ownClaim(request.claim)) === undefined
      ? {
          field: `${field}.machines`,
          problem: `its pods may run on different cards: ${cards.join(", ")}`,
          why: "each step waits for the slowest card, and vLLM uses only as much memory of each card as the smallest card has",
          remedy: context.spec.dra
            ? `select machines with equal cards by ${field}.nodeSelector, or select the card by claim.product`
            : `select machines with equal cards by ${field}.nodeSelector`,
        }
      : undefined,
    release !== undefined && compareDotted(release, firstOverMachines) < 0
      ? {
          field: `${field}.${server.image === undefined ? "machines" : "image"}`,
          problem: `vLLM ${release} does not run over several machines without Ray`,
          why: "this release exits at its start, because it does not know --nnodes",
          remedy:
            "set `image` to vllm/vllm-openai:v0.12.0 or newer, with a CUDA release that the driver supports",
        }
      : undefined,
    valueOfFlag(args, "--distributed-executor-backend") === "ray"
      ? {
          field: `${field}.args`,
          problem: "selects Ray",
          why: "vLLM refuses Ray together with --nnodes, and its newer images do not contain Ray",
          remedy: "leave --distributed-executor-backend out",
        }
      : undefined,
  ];
}

/** Source: vllm, config/cache.py (gpu_memory_utilization: greater than 0, at most 1). */
function memoryUse(field: string, args: string[]): Found {
  const memoryShare = valueOfFlag(args, "--gpu-memory-utilization");
  return memoryShare !== undefined && !(Number(memoryShare) > 0 && Number(memoryShare) <= 1)
    ? {
        field: `${field}.args`,
        problem: `sets ${memoryShare} as the share of the card's memory`,
        why: "vLLM accepts a share above 0 and at most 1, and exits with any other value",
        remedy: "write e.g. --gpu-memory-utilization=0.9, or leave it out",
      }
    : undefined;
}

/** Flags by which the pods of one server on several machines find each other. */
const byGroup = ["--nnodes", "--node-rank", "--master-addr", "--master-port", "--headless"];

/** Findings for arguments that this package itself sets, and for secrets in arguments. */
const reservedArguments = (field: string, args: string[]): Found =>
  args.flatMap((arg): Found => {
    const flag = withDashes(arg).split("=")[0] ?? "";
    if (byGroup.includes(flag))
      return {
        field: `${field}.args`,
        problem: `sets ${flag}`,
        why: "the workload itself sets this argument for each of its pods",
        remedy: `write ${field}.machines instead`,
      };
    if (flag === "--model")
      return {
        field: `${field}.args`,
        problem: "sets --model",
        why: "the workload itself sets this argument, and its Service and its probes depend on it",
        remedy: `write the model to ${field}.model`,
      };
    if (flag === "--port")
      return {
        field: `${field}.args`,
        problem: "sets --port",
        why: "the workload itself sets this argument, and its Service and its probes depend on it",
        remedy: "leave it out",
      };
    if (flag === "--api-key" || flag === "--hf-token" || /\bhf_[A-Za-z0-9]{20}/.test(arg))
      return {
        field: `${field}.args`,
        problem: "contains a secret",
        why: "the stack file, Pulumi's state and the pod contain arguments in plain text",
        remedy: `remove it, and name a Kubernetes Secret in ${field}.huggingFaceToken (token for the download) or ${field}.apiKeySecret (key of the clients)`,
      };
    return [];
  });
