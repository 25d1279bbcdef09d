/**
 * Bytes that a text may have which reaches a program by a variable of its environment. Linux starts no program with a variable of
 * 128 KiB, its name and the final zero included (execve, MAX_ARG_STRLEN). The rest is room for the name.
 *
 * Pulumi's command provider hands a run the whole standard output and standard error of the run before it by two variables
 * (pulumi-command v1.2.1, provider/pkg/provider/local/commandController.go). If one is longer, neither the next update nor the destroy
 * can start.
 */
export const LONGEST_VARIABLE = 120 * 1024;

/** Whether a text can reach a program by its environment. */
export const fitsVariable = (text: string): boolean => Buffer.byteLength(text) <= LONGEST_VARIABLE;
