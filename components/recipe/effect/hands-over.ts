/**
 * Whether an update would hand a machine's configuration over to another owner, which it refuses: the stack's part has to be out of an
 * adopted configuration, and out of Omni's patches, before somebody else holds it.
 */
export function handsOver(was: string, is: string): boolean {
  return was !== is && was !== "owned";
}
