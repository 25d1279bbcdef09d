import type { CheckContext, CheckedMachine, Checks, Found } from "./check";
import { ownClaim } from "../cluster/claim";
import { claimable, machinesFor, mayClaim, offers, resourceOf } from "./placement";
import { vllmImage } from "../facts/cuda";
import { type GpuRequest, gpuRequests, type Workload, workloadsOfKind } from "../stack/workloads";
import { compareDotted } from "../facts/version";
import { valueOfFlag, vllmSplit, withDashes } from "../facts/vllm";

/** Oldest compute capability of vLLM's images. */
const oldest = "7.0";

/** Servers of vLLM. */
export const vllmChecks = {
  vllm: {
    rule: "vLLM's arguments fit its GPUs, its cards and its workload",
    source:
      "docs.vllm.ai, serve arguments, parallelism and GPU requirements; NVIDIA MIG user guide (no peer-to-peer between instances)",
    ofFiles: true,
    find: (context) =>
      workloadsOfKind(context.spec, "vllm").flatMap((server) => ofServer(server, context)),
  },
} satisfies Checks;

function ofServer({ field, said }: Workload<"vllm">, context: CheckContext): Found {
  const { spec } = context;
  const { args = [], gpus = 1, machines = 1, huggingFaceToken, apiKeySecret, namespace } = said;
  const proxy = spec.workloads?.litellm;
  // The pod may land on any machine that offers enough, for certain: for one whose units are unknown, so is the result.
  const request = gpuRequests(spec).find((one) => one.field === field)!;
  const old = machinesFor(request, context)
    .filter(({ recipe }) => (recipe.allocatable[resourceOf(request, context)] ?? 0) >= gpus)
    .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
    .find(({ card }) => compareDotted(card.computeCapability, oldest) < 0);
  return [
    parallelism(field, said),
    machines > 1 && overMachines(field, said, request, context),
    ours(field, args),
    memoryUse(field, args),
    gpus * machines > 1 &&
      spec.sharing?.mig !== undefined && {
        field: `${field}.${gpus > 1 ? "gpus" : "machines"}`,
        problem: `${gpus * machines} MIG devices for one model`,
        why: "a process sees one MIG device, and there is no peer-to-peer between them: tensor parallelism cannot start",
        remedy: "request 1, of a profile that is large enough, or leave sharing.mig out",
      },
    huggingFaceToken !== undefined &&
      namespace === undefined && {
        field: `${field}.huggingFaceToken`,
        problem: "the workload makes its namespace itself",
        why: `the Secret ${huggingFaceToken.name} cannot be there before its namespace, so the pod would wait for it (CreateContainerConfigError)`,
        remedy: `make a namespace with the Secret and name it in ${field}.namespace`,
      },
    apiKeySecret !== undefined && [
      namespace === undefined && {
        field: `${field}.apiKeySecret`,
        problem: "the workload makes its namespace itself",
        why: `the Secret ${apiKeySecret.name} cannot be there before its namespace, so the pod would wait for it (CreateContainerConfigError)`,
        remedy: `make a namespace with the Secret and name it in ${field}.namespace`,
      },
      // Only with a master key of its own does its namespace exist before it, so that the Secret can.
      said.active !== false &&
        proxy !== undefined &&
        proxy.active !== false &&
        proxy.masterKeySecret === undefined && {
          field: "workloads.litellm.masterKeySecret",
          problem: `is missing, and ${field} asks for a key (apiKeySecret)`,
          why: `LiteLLM would hand its models to everyone without one, and the Secret ${apiKeySecret.name} cannot be in LiteLLM's namespace before the update makes it`,
          remedy: "make that namespace with both Secrets, and name LiteLLM's own key here",
        },
    ],
    old !== undefined && {
      field,
      problem: `the ${old.card.model} of ${old.machine.name} has compute capability ${old.card.computeCapability}`,
      why: `vLLM's images hold code from ${oldest} on: no kernel image is available for execution on the device`,
      remedy: `keep it off that machine by ${field}.nodeSelector, or take ollama for this card`,
    },
  ];
}

/** GPUs that the arguments ask for must be those that the pods get. */
function parallelism(field: string, said: Said): Found {
  const { gpus = 1, machines = 1 } = said;
  const { uses } = vllmSplit(said);
  const asked = gpus * machines;
  return (
    uses !== asked && {
      field: `${field}.args`,
      problem:
        machines > 1
          ? `splits the model over ${uses} GPUs, but the pods request ${asked}`
          : `splits the model over ${uses} GPUs, but the pod requests ${asked}`,
      why: "vLLM does not start with too few GPUs, and leaves some idle with too many",
      remedy:
        machines > 1
          ? "leave the size out, as gpus sets it, or make gpus times machines the product of the sizes"
          : "leave the size out, as gpus sets it, or make gpus the product of the sizes",
    }
  );
}

type Said = Workload<"vllm">["said"];

/** First release that starts with --nnodes and without Ray: vllm#23691 was merged in November 2025, after v0.11.0. */
const firstOverMachines = "0.11.1";

/**
 * A model over several machines fits them, and they are alike. Source: docs.vllm.ai, parallelism and scaling (tensor
 * parallelism within a machine, pipeline parallelism across); vllm, config/parallel.py (backends with --nnodes),
 * v1/core/kv_cache_utils.py (the least memory of all workers counts).
 */
function overMachines(
  field: string,
  said: Said,
  request: GpuRequest,
  context: CheckContext,
): Found {
  const { gpus = 1, machines = 1, args = [] } = said;
  // A component that is used alone has no machines to choose its image by.
  const image =
    said.image ??
    (context.gpuMachines.length > 0 ? vllmImage(context.plan.kubernetes.cudaVersion) : "");
  const release = /(?:^|\/)vllm-openai:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  const { tensor } = vllmSplit(said);
  const has = (machine: CheckedMachine): number =>
    context.spec.dra ? mayClaim(machine, request) : offers(machine, resourceOf(request, context));
  const fitting = machinesFor(request, context).filter((machine) => has(machine) >= gpus);
  const { product, cel } = request.claim ?? {};
  const cards = [
    ...new Set(fitting.flatMap((machine) => claimable(machine, request).map(({ model }) => model))),
  ];
  const names = fitting.map(({ name }) => name).join(", ") || "none";
  return [
    tensor > gpus && {
      field: `${field}.args`,
      problem: `splits each layer over ${tensor} GPUs, and a machine gives the model ${gpus}`,
      why: "every layer would wait for the network between machines, twice for each token",
      remedy: `leave --tensor-parallel-size out, or write ${gpus} or less`,
    },
    context.gpuMachines.length > 0 &&
      fitting.length < machines && {
        field: `${field}.machines`,
        problem: `is ${machines}, and ${fitting.length} of the stack's machines have the cards that one pod wants, ${gpus} each (${names})`,
        why: "each pod of the model needs a machine of its own, and the others wait for the one that stays Pending",
        remedy: "write fewer machines or gpus, or add a machine",
      },
    fitting.length >= machines &&
      cards.length > 1 &&
      (product ?? cel ?? ownClaim(request.claim)) === undefined && {
        field: `${field}.machines`,
        problem: `its pods may land on unlike cards: ${cards.join(", ")}`,
        why: "each step waits for the slowest card, and vLLM uses no more memory of any than the smallest has",
        remedy: context.spec.dra
          ? `choose machines that are alike by ${field}.nodeSelector, or cards by claim.product`
          : `choose machines that are alike by ${field}.nodeSelector`,
      },
    release !== undefined &&
      compareDotted(release, firstOverMachines) < 0 && {
        field: `${field}.${said.image === undefined ? "machines" : "image"}`,
        problem: `vLLM ${release} does not run over several machines without Ray`,
        why: "it does not know --nnodes, and ends at its start",
        remedy: "set image to vllm/vllm-openai:v0.12.0 or newer, with a CUDA that the driver runs",
      },
    valueOfFlag(args, "--distributed-executor-backend") === "ray" && {
      field: `${field}.args`,
      problem: "asks for Ray",
      why: "vLLM refuses it with --nnodes, and its newer images do not have it",
      remedy: "leave --distributed-executor-backend out",
    },
  ];
}

/** Source: vllm, config/cache.py (gpu_memory_utilization: greater than 0, at most 1). */
function memoryUse(field: string, args: string[]): Found {
  const said = valueOfFlag(args, "--gpu-memory-utilization");
  return (
    said !== undefined &&
    !(Number(said) > 0 && Number(said) <= 1) && {
      field: `${field}.args`,
      problem: `asks for ${said} of the card's memory`,
      why: "vLLM takes a share above 0 and at most 1, and stops with any other",
      remedy: "write e.g. --gpu-memory-utilization=0.9, or leave it out",
    }
  );
}

/** Flags by which the pods of a group find each other. */
const byGroup = ["--nnodes", "--node-rank", "--master-addr", "--master-port", "--headless"];

/** Arguments that the workload sets itself, and secrets. */
const ours = (field: string, args: string[]): Found =>
  args.flatMap((arg): Found => {
    const flag = withDashes(arg).split("=")[0] ?? "";
    if (byGroup.includes(flag))
      return {
        field: `${field}.args`,
        problem: `sets ${flag}`,
        why: "the workload sets it itself for each of its pods",
        remedy: `write ${field}.machines instead`,
      };
    if (flag === "--model")
      return {
        field: `${field}.args`,
        problem: "sets --model",
        why: "the workload sets it itself: its Service and its probes go by it",
        remedy: `write the model to ${field}.model`,
      };
    if (["--port", "--host"].includes(flag))
      return {
        field: `${field}.args`,
        problem: `sets ${flag}`,
        why: "the workload sets it itself: its Service and its probes go by it",
        remedy: "leave it out",
      };
    if (flag === "--api-key" || flag === "--hf-token" || /\bhf_[A-Za-z0-9]{20}/.test(arg))
      return {
        field: `${field}.args`,
        problem: "holds a secret",
        why: "arguments are kept in plain text, in the stack file, in Pulumi's state and in the pod",
        remedy: `take it out: a token for models comes from a Kubernetes Secret (${field}.huggingFaceToken), and so does the key of clients (${field}.apiKeySecret)`,
      };
    return [];
  });
