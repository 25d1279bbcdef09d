/** Kernel arguments out of a text that has several. */
export const splitKernelArgs = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");
