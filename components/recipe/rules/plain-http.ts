/** Whether a URL leads over the network without encryption: by plain HTTP, and not to this computer itself. */
export function isPlainHttp(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  const isHere =
    hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return protocol === "http:" && !isHere;
}
