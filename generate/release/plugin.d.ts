/** The name of a plugin's archive for a platform and a processor, both as Node calls them. */
export function archiveOf(platform: string, processor: string): string;
