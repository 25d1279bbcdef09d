/** Values that replace a field's own value in a valid stack, one at a time. */
export interface RightValues {
  /** The stack, by the name of its file in tests/fixtures/valid. */
  base: string;
  /** Path of the field, or paths of several fields that are tried one by one. */
  field: string | string[];
  /**
   * Values that a user of Kubernetes, Talos, NVIDIA's software or Pulumi may write; undefined removes the field.
   */
  values: unknown[];
}

/** Values that are refused. */
export interface WrongValues extends RightValues {
  /** The check that refuses each of them. */
  check: string;
}
