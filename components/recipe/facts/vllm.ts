import type { VllmSpec } from "../spec/index";

/** Flags of `vllm serve` that split a model over GPUs. Source: docs.vllm.ai, parallelism and scaling. */
const splits = {
  tensor: /^(--tensor-parallel-size|-tp)(=|$)/,
  pipeline: /^(--pipeline-parallel-size|-pp)(=|$)/,
  data: /^(--data-parallel-size|-dp)(=|$)/,
};

/**
 * Splits a model over the GPUs of one or more machines: pipeline parallelism splits it over the machines, and tensor
 * parallelism over the GPUs of each machine. A size in the arguments takes precedence. The function also respects a
 * size for data parallelism in the arguments.
 *
 * @returns the two sizes; `flags`, which set the sizes that the arguments lack (the size of pipeline parallelism only
 * for several machines); and `uses`, the number of GPUs over which the server splits the model.
 */
export function vllmSplit({ args = [], gpus = 1, machines = 1 }: Partial<VllmSpec>) {
  const [statedTensor, statedPipeline, data = 1] = [
    splits.tensor,
    splits.pipeline,
    splits.data,
  ].map((flag) => sizeOf(args, flag));
  const remainingGpus = (divisor: number): number =>
    Math.max(1, Math.floor((gpus * machines) / data / divisor));
  const pipeline = statedPipeline ?? (machines === 1 ? 1 : remainingGpus(statedTensor ?? gpus));
  const tensor = statedTensor ?? remainingGpus(pipeline);
  const flags = [
    ...(statedTensor === undefined ? [`--tensor-parallel-size=${tensor}`] : []),
    ...(statedPipeline === undefined && machines > 1
      ? [`--pipeline-parallel-size=${pipeline}`]
      : []),
  ];
  return { tensor, pipeline, flags, uses: tensor * pipeline * data };
}

/** Port at which the machines of one model find each other (vllm, config/parallel.py, master_port). */
export const masterPort = 29501;

/**
 * Name of the LeaderWorkerSet of a server over several machines. A LeaderWorkerSet creates a Service with its own name.
 * So it must not have the server's name, which the server's Service already has.
 */
export const groupName = (server: string): string => `${server}-group`;

function sizeOf(args: string[], flag: RegExp): number | undefined {
  const index = args.findIndex((arg) => flag.test(withDashes(arg)));
  const arg = args[index];
  if (arg === undefined) return undefined;
  return Number(arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : args[index + 1]);
}

/** vLLM reads `--a_b` as `--a-b` (vllm, utils/argparse_utils.py, FlexibleArgumentParser). */
export function withDashes(arg: string): string {
  const [flag = "", ...rest] = arg.split("=");
  return flag.startsWith("--") ? [flag.replaceAll("_", "-"), ...rest].join("=") : arg;
}

/** Value of a flag, written `--flag=value` or `--flag value`; undefined if the flag is missing. */
export function valueOfFlag(args: string[], flag: string): string | undefined {
  const index = args.findIndex((arg) => withDashes(arg).split("=")[0] === flag);
  const arg = args[index];
  return arg === undefined || arg.includes("=")
    ? arg?.slice(arg.indexOf("=") + 1)
    : args[index + 1];
}

/**
 * Names of a server's model in requests; the server refuses any other name (vllm, engine/arg_utils.py,
 * served_model_name).
 */
export function servedNames({ model, args = [] }: VllmSpec): string[] {
  const index = args.findIndex((arg) => withDashes(arg).split("=")[0] === "--served-model-name");
  const [flag, ...followingArgs] = index < 0 ? [] : args.slice(index);
  if (flag === undefined) return [model];
  if (flag.includes("=")) return [flag.slice(flag.indexOf("=") + 1)];
  const nextFlag = followingArgs.findIndex((arg) => arg.startsWith("-"));
  return nextFlag < 0 ? followingArgs : followingArgs.slice(0, nextFlag);
}
