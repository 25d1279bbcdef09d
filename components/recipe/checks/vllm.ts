import type { Check, Complaint } from "./check";
import { machinesFor, offers, resourceOf } from "./placement";
import { gpuRequests } from "../stack/workloads";
import { compareDotted } from "../facts/version";
import { valueOfFlag, vllmSplit, withDashes } from "../facts/vllm";

/** Oldest compute capability of vLLM's images. */
const oldest = "7.0";

/** vLLM's arguments fit its GPUs, its card and its workload. */
export const vllm: Check = {
  id: "vllm",
  source:
    "docs.vllm.ai, serve arguments, parallelism and GPU requirements; NVIDIA MIG user guide (no peer-to-peer between instances)",
  find: (context) => {
    const { spec } = context;
    const server = spec.workloads?.vllm;
    if (!server) return [];
    const { args = [], gpus = 1, huggingFaceToken, namespace } = server;
    const complaints: (Complaint | false)[] = [
      parallelism(args, gpus),
      ...ours(args),
      memoryUse(args),
      gpus > 1 &&
        spec.sharing?.mig !== undefined && {
          field: "workloads.vllm.gpus",
          problem: `${gpus} MIG devices for one model`,
          why: "a process sees one MIG device, and there is no peer-to-peer between them: tensor parallelism cannot start",
          remedy: "request 1, of a profile that is large enough, or leave sharing.mig out",
        },
      huggingFaceToken !== undefined &&
        namespace === undefined && {
          field: "workloads.vllm.huggingFaceToken",
          problem: "the workload makes its namespace itself",
          why: `the Secret ${huggingFaceToken.name} cannot be there before its namespace, so the pod would wait for it (CreateContainerConfigError)`,
          remedy: "make a namespace with the Secret and name it in workloads.vllm.namespace",
        },
    ];
    // The pod may land on any machine that offers enough.
    const request = gpuRequests(spec).find(({ field }) => field === "workloads.vllm");
    const old = (request ? machinesFor(request, context) : [])
      .filter((machine) => offers(machine, resourceOf(request!, context)) >= gpus)
      .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
      .find(({ card }) => compareDotted(card.computeCapability, oldest) < 0);
    complaints.push(
      old !== undefined && {
        field: "workloads.vllm",
        problem: `the ${old.card.model} of ${old.machine.name} has compute capability ${old.card.computeCapability}`,
        why: `vLLM's images hold code from ${oldest} on: no kernel image is available for execution on the device`,
        remedy: "take ollama for this card",
      },
    );
    return complaints.filter((complaint) => complaint !== false);
  },
};

/** GPUs that the arguments ask for must be those that the pod gets. */
function parallelism(args: string[], gpus: number): Complaint | false {
  const { uses } = vllmSplit(args, gpus);
  return (
    uses !== gpus && {
      field: "workloads.vllm.args",
      problem: `splits the model over ${uses} GPUs, but the pod requests ${gpus}`,
      why: "vLLM would not start with too few GPUs, and would leave some idle with too many",
      remedy:
        "leave the tensor parallel size out, as the workload sets it by gpus, or make gpus the product of the sizes",
    }
  );
}

/** Source: vllm, config/cache.py (gpu_memory_utilization: greater than 0, at most 1). */
function memoryUse(args: string[]): Complaint | false {
  const said = valueOfFlag(args, "--gpu-memory-utilization");
  return (
    said !== undefined &&
    !(Number(said) > 0 && Number(said) <= 1) && {
      field: "workloads.vllm.args",
      problem: `asks for ${said} of the card's memory`,
      why: "vLLM takes a share above 0 and at most 1, and stops with any other",
      remedy: "write e.g. --gpu-memory-utilization=0.9, or leave it out",
    }
  );
}

/** Arguments that the workload sets itself, and secrets. */
function ours(args: string[]): Complaint[] {
  return args.flatMap((arg): Complaint[] => {
    const flag = withDashes(arg).split("=")[0] ?? "";
    if (["--model", "--port", "--host"].includes(flag)) {
      return [
        {
          field: "workloads.vllm.args",
          problem: `sets ${flag}`,
          why: "the workload sets it itself: its Service and its probes go by it",
          remedy: flag === "--model" ? "write the model to workloads.vllm.model" : "leave it out",
        },
      ];
    }
    if (flag === "--api-key" || flag === "--hf-token" || /\bhf_[A-Za-z0-9]{20}/.test(arg)) {
      return [
        {
          field: "workloads.vllm.args",
          problem: "holds a secret",
          why: "arguments are kept in plain text, in the stack file, in Pulumi's state and in the pod",
          remedy: "take it out; a token for models comes from a Kubernetes Secret (workloads.vllm.huggingFaceToken)",
        },
      ];
    }
    return [];
  });
}
