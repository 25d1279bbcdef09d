/** A toleration of a workload, as a pod spec has it. */
export interface GpuToleration {
  /** Key of the taint. */
  key: string;
  /** `Exists` or `Equal`. */
  operator: string;
  /** Value of the taint, with `Equal`. */
  value?: string;
  /** `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: every effect. */
  effect?: string;
}
