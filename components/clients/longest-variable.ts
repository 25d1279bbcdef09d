/**
 * Longest text in bytes that can be passed in an environment variable. Linux starts no program with a variable of 128
 * KiB, including its name and the final zero byte (execve, MAX_ARG_STRLEN). This limit is 8 KiB lower, so that there is
 * room for the variable's name.
 *
 * Pulumi's command provider passes the whole standard output and standard error of a run to the next run in two
 * variables (pulumi-command v1.2.1, provider/pkg/provider/local/commandController.go). If one of them is too long,
 * Pulumi can start neither the next update nor the destroy.
 */
export const LONGEST_VARIABLE = 120 * 1024;

/** Whether a text fits into an environment variable. */
export const fitsVariable = (text: string): boolean => Buffer.byteLength(text) <= LONGEST_VARIABLE;
