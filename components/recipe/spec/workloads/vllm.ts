/** A key of a Secret that is there already. Its content passes neither through this package nor through Pulumi's state. */
export interface SecretKeySpec {
  /**
   * Name of the Secret, in the workload's namespace.
   * @example `hugging-face`
   */
  name: string;
  /**
   * Key of its data.
   * @example `token`
   */
  key: string;
}

/** vLLM: an OpenAI-compatible server of one model. */
export interface VllmSpec {
  /**
   * Model by its name on Hugging Face.
   * @example `Qwen/Qwen2.5-7B-Instruct`
   */
  model: string;
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * GPUs that it requests, and splits the model over by tensor parallelism.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * Labels of the machines that it may run on, such as `labels` of a machine. A volume that belongs to a machine, as one of a local
   * path does, keeps it there.
   * @default any GPU machine
   * @example `{ card: large }`
   */
  nodeSelector?: Record<string, string>;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Further arguments of `vllm serve`.
   * @default none
   * @example `[--max-model-len=8192]`
   */
  args?: string[];
  /**
   * Token for gated models. The Secret must be there first, so `namespace` must name an existing one.
   * @default none
   * @example `{ name: hugging-face, key: token }`
   */
  huggingFaceToken?: SecretKeySpec;
  /**
   * Limit of `/dev/shm`, which the processes of one model share. It counts as the pod's memory once used.
   * @default `8Gi`
   * @example `16Gi`
   */
  sharedMemory?: string;
  /**
   * Container image. Nobody has verified that the registry has the default tag.
   * @default `vllm/vllm-openai` of a release that the driver's CUDA runs
   * @example `vllm/vllm-openai:v0.11.0`
   */
  image?: string;
  /**
   * Size of the volume for downloaded models and compiled graphs.
   * @default `100Gi`
   * @example `200Gi`
   */
  storage?: string;
  /**
   * StorageClass of the volume. Kubernetes cannot change it later, so the preview refuses another value: the volume and its
   * data would be lost.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
  /**
   * Namespace, which the workload makes if it is the default; another one must exist.
   * @default `vllm`
   * @example `ai`
   */
  namespace?: string;
}
