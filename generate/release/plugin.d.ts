/** The name of a plugin's archive for a platform and a processor, both in Node's words. */
export function archiveOf(platform: string, processor: string): string;
