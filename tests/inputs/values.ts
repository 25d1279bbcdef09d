/** Values that each take the place of a field's own value in a stack that is right. */
export interface RightValues {
  /** The stack, by the name of its file in tests/fixtures/valid. */
  base: string;
  /** Path of the field, or paths of several fields that are each tried. */
  field: string | string[];
  /** What a user of Kubernetes, Talos, NVIDIA's software or Pulumi may write; undefined takes the field away. */
  values: unknown[];
}

/** Values that are refused. */
export interface WrongValues extends RightValues {
  /** The check that refuses each of them. */
  check: string;
}
