/** Ways to split a model over GPUs, by the flags of `vllm serve`. Source: docs.vllm.ai, parallelism and scaling. */
const splits = {
  tensor: /^(--tensor-parallel-size|-tp)(=|$)/,
  pipeline: /^(--pipeline-parallel-size|-pp)(=|$)/,
  data: /^(--data-parallel-size|-dp)(=|$)/,
};

/** How a server's GPUs are used. */
export interface VllmSplit {
  /** Tensor parallel size that is left to set; undefined when the arguments set it. */
  tensor?: number;
  /** GPUs that the server will use, all together. */
  uses: number;
}

/** Splits a model over GPUs: tensor parallelism takes what pipeline and data parallelism in the arguments leave. */
export function vllmSplit(args: string[], gpus: number): VllmSplit {
  const tensor = sizeOf(args, splits.tensor);
  const rest = (sizeOf(args, splits.pipeline) ?? 1) * (sizeOf(args, splits.data) ?? 1);
  if (tensor !== undefined) return { uses: tensor * rest };
  const left = Math.max(1, Math.floor(gpus / rest));
  return { tensor: left, uses: left * rest };
}

function sizeOf(args: string[], flag: RegExp): number | undefined {
  const at = args.findIndex((arg) => flag.test(withDashes(arg)));
  const arg = args[at];
  if (arg === undefined) return undefined;
  return Number(arg.includes("=") ? arg.slice(arg.indexOf("=") + 1) : args[at + 1]);
}

/** vLLM reads `--a_b` as `--a-b` (vllm, utils/argparse_utils.py, FlexibleArgumentParser). */
export function withDashes(arg: string): string {
  const [flag = "", ...rest] = arg.split("=");
  return flag.startsWith("--") ? [flag.replaceAll("_", "-"), ...rest].join("=") : arg;
}

/** What follows a flag, as `--flag=value` or `--flag value`; undefined when it is not there. */
export function valueOfFlag(args: string[], flag: string): string | undefined {
  const at = args.findIndex((arg) => withDashes(arg).split("=")[0] === flag);
  const arg = args[at];
  return arg === undefined || arg.includes("=") ? arg?.slice(arg.indexOf("=") + 1) : args[at + 1];
}

/** Names under which a server knows its model: another one is none (vllm, engine/arg_utils.py, served_model_name). */
export function servedNames({ model, args = [] }: { model: string; args?: string[] }): string[] {
  const at = args.findIndex((arg) => withDashes(arg).split("=")[0] === "--served-model-name");
  const [flag, ...rest] = at < 0 ? [] : args.slice(at);
  if (flag === undefined) return [model];
  if (flag.includes("=")) return [flag.slice(flag.indexOf("=") + 1)];
  const next = rest.findIndex((arg) => arg.startsWith("-"));
  return next < 0 ? rest : rest.slice(0, next);
}
