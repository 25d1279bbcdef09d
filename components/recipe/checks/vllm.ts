import { type CheckContext, type CheckedMachine, type Checks, complaint, type Found } from "./check";
import { ownClaim } from "../kubernetes/claim";
import { claimable, machinesFor, mayClaim, offers, resourceOf } from "./placement";
import { vllmImage } from "../facts/cuda";
import { type GpuRequest, gpuRequests, type Workload, workloadsOfKind } from "../stack/workloads";
import { compareDotted } from "../facts/version";
import { valueOfFlag, vllmSplit, withDashes } from "../facts/vllm";

/** Oldest compute capability of vLLM's images. */
const oldest = "7.0";

/** Servers of vLLM. */
export const vllmChecks: Checks = {
  vllm: (context) => workloadsOfKind(context.spec, "vllm").flatMap((server) => ofServer(server, context)),
};

function ofServer({ field, said }: Workload<"vllm">, context: CheckContext): Found {
  const { spec } = context;
  const { args = [], gpus = 1, machines = 1, huggingFaceToken, apiKeySecret, namespace } = said;
  const proxy = spec.workloads?.litellm;
  // The pod may land on any machine that offers enough, for certain: of one whose units are not known, nobody can tell.
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
      spec.sharing?.mig !== undefined &&
      complaint(`${field}.${gpus > 1 ? "gpus" : "machines"}`, "vllm/mig", { devices: gpus * machines }),
    huggingFaceToken !== undefined &&
      namespace === undefined &&
      complaint(`${field}.huggingFaceToken`, "vllm/token", { huggingFaceToken, field }),
    apiKeySecret !== undefined && [
      namespace === undefined && complaint(`${field}.apiKeySecret`, "vllm/key", { apiKeySecret, field }),
      // Its namespace is there before it, so that the Secret can be, only with a key of its own.
      said.active !== false &&
        proxy !== undefined &&
        proxy.active !== false &&
        proxy.masterKeySecret === undefined &&
        complaint("workloads.litellm.masterKeySecret", "vllm/key-behind-proxy", { apiKeySecret, field }),
    ],
    old !== undefined && complaint(field, "vllm/old-card", { ...old, oldest, field }),
  ];
}

/** GPUs that the arguments ask for must be those that the pods get. */
function parallelism(field: string, said: Said): Found {
  const { gpus = 1, machines = 1 } = said;
  const { uses } = vllmSplit(said);
  const asked = gpus * machines;
  return (
    uses !== asked &&
    complaint(`${field}.args`, machines > 1 ? "vllm/split-over-machines" : "vllm/split", { uses, asked })
  );
}

type Said = Workload<"vllm">["said"];

/** First release that starts with --nnodes and without Ray: vllm#23691 was merged in November 2025, after v0.11.0. */
const firstOverMachines = "0.11.1";

/**
 * A model over several machines fits them, and they are alike. Source: docs.vllm.ai, parallelism and scaling (tensor parallelism within
 * a machine, pipeline parallelism across); vllm, config/parallel.py (backends with --nnodes), v1/core/kv_cache_utils.py (the least
 * memory of all workers counts).
 */
function overMachines(field: string, said: Said, request: GpuRequest, context: CheckContext): Found {
  const { gpus = 1, machines = 1, args = [] } = said;
  // A component that is used alone has no machines to choose its image by.
  const image = said.image ?? (context.gpuMachines.length > 0 ? vllmImage(context.plan.kubernetes.cudaVersion) : "");
  const release = /(?:^|\/)vllm-openai:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  const { tensor } = vllmSplit(said);
  const has = (machine: CheckedMachine): number =>
    context.spec.dra ? mayClaim(machine, request) : offers(machine, resourceOf(request, context));
  const fitting = machinesFor(request, context).filter((machine) => has(machine) >= gpus);
  const { product, cel } = request.claim ?? {};
  const cards = [...new Set(fitting.flatMap((machine) => claimable(machine, request).map(({ model }) => model)))];
  const names = fitting.map(({ name }) => name).join(", ") || "none";
  return [
    tensor > gpus && complaint(`${field}.args`, "vllm/tensor", { tensor, gpus }),
    context.gpuMachines.length > 0 &&
      fitting.length < machines &&
      complaint(`${field}.machines`, "vllm/machines", { machines, count: fitting.length, gpus, names }),
    fitting.length >= machines &&
      cards.length > 1 &&
      (product ?? cel ?? ownClaim(request.claim)) === undefined &&
      complaint(`${field}.machines`, context.spec.dra ? "vllm/unlike-claims" : "vllm/unlike", { cards, field }),
    release !== undefined &&
      compareDotted(release, firstOverMachines) < 0 &&
      complaint(`${field}.${said.image === undefined ? "machines" : "image"}`, "vllm/release", { release }),
    valueOfFlag(args, "--distributed-executor-backend") === "ray" && complaint(`${field}.args`, "vllm/ray"),
  ];
}

/** Source: vllm, config/cache.py (gpu_memory_utilization: greater than 0, at most 1). */
function memoryUse(field: string, args: string[]): Found {
  const said = valueOfFlag(args, "--gpu-memory-utilization");
  return (
    said !== undefined &&
    !(Number(said) > 0 && Number(said) <= 1) &&
    complaint(`${field}.args`, "vllm/memory", { said })
  );
}

/** Flags by which the pods of a group find each other. */
const byGroup = ["--nnodes", "--node-rank", "--master-addr", "--master-port", "--headless"];

/** Arguments that the workload sets itself, and secrets. */
const ours = (field: string, args: string[]): Found =>
  args.flatMap((arg): Found => {
    const flag = withDashes(arg).split("=")[0] ?? "";
    if (byGroup.includes(flag)) return complaint(`${field}.args`, "vllm/group-flag", { flag, field });
    if (flag === "--model") return complaint(`${field}.args`, "vllm/model", { field });
    if (["--port", "--host"].includes(flag)) return complaint(`${field}.args`, "vllm/own-flag", { flag });
    if (flag === "--api-key" || flag === "--hf-token" || /\bhf_[A-Za-z0-9]{20}/.test(arg))
      return complaint(`${field}.args`, "vllm/secret", { field });
    return [];
  });
