import type { CheckContext, Checks, Found } from "./check";
import { machinesFor, resourceOf } from "./placement";
import { gpuRequests, type Workload, workloadsOfKind } from "../stack/workloads";
import { compareDotted } from "../facts/version";
import { valueOfFlag, vllmSplit, withDashes } from "../facts/vllm";

/** Oldest compute capability of vLLM's images. */
const oldest = "7.0";

/** Servers of vLLM. */
export const vllmChecks: Checks = {
  /**
   * vLLM's arguments fit its GPUs, its card and its workload. Source: docs.vllm.ai, serve arguments, parallelism and GPU requirements;
   * NVIDIA MIG user guide (no peer-to-peer between instances).
   */
  vllm: (context) => workloadsOfKind(context.spec, "vllm").flatMap((server) => ofServer(server, context)),
};

function ofServer({ field, said }: Workload<"vllm">, context: CheckContext): Found {
  const { spec } = context;
  const { args = [], gpus = 1, huggingFaceToken, namespace } = said;
  // The pod may land on any machine that offers enough, for certain: of one whose units are not known, nobody can tell.
  const request = gpuRequests(spec).find((one) => one.field === field);
  const old = (request ? machinesFor(request, context) : [])
    .filter(({ recipe }) => (recipe.allocatable[resourceOf(request!, context)] ?? 0) >= gpus)
    .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
    .find(({ card }) => compareDotted(card.computeCapability, oldest) < 0);
  return [
    parallelism(field, args, gpus),
    ours(field, args),
    memoryUse(field, args),
    gpus > 1 &&
      spec.sharing?.mig !== undefined && {
        field: `${field}.gpus`,
        problem: `${gpus} MIG devices for one model`,
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
    old !== undefined && {
      field,
      problem: `the ${old.card.model} of ${old.machine.name} has compute capability ${old.card.computeCapability}`,
      why: `vLLM's images hold code from ${oldest} on: no kernel image is available for execution on the device`,
      remedy: `keep it off that machine by ${field}.nodeSelector, or take ollama for this card`,
    },
  ];
}

/** GPUs that the arguments ask for must be those that the pod gets. */
function parallelism(field: string, args: string[], gpus: number): Found {
  const { uses } = vllmSplit(args, gpus);
  return (
    uses !== gpus && {
      field: `${field}.args`,
      problem: `splits the model over ${uses} GPUs, but the pod requests ${gpus}`,
      why: "vLLM does not start with too few GPUs, and leaves some idle with too many",
      remedy: "leave the size out, as gpus sets it, or make gpus the product of the sizes",
    }
  );
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

/** Arguments that the workload sets itself, and secrets. */
function ours(field: string, args: string[]): Found {
  return args.flatMap((arg): Found => {
    const flag = withDashes(arg).split("=")[0] ?? "";
    if (["--model", "--port", "--host"].includes(flag))
      return {
        field: `${field}.args`,
        problem: `sets ${flag}`,
        why: "the workload sets it itself: its Service and its probes go by it",
        remedy: flag === "--model" ? `write the model to ${field}.model` : "leave it out",
      };
    if (flag === "--api-key" || flag === "--hf-token" || /\bhf_[A-Za-z0-9]{20}/.test(arg))
      return {
        field: `${field}.args`,
        problem: "holds a secret",
        why: "arguments are kept in plain text, in the stack file, in Pulumi's state and in the pod",
        remedy: `take it out; a token for models comes from a Kubernetes Secret (${field}.huggingFaceToken)`,
      };
    return [];
  });
}
