/** Repositories that pages name without their owner. */
const owners: Readonly<Record<string, string>> = {
  talos: "siderolabs",
  extensions: "siderolabs",
  omni: "siderolabs",
  "gpu-operator": "NVIDIA",
  "k8s-device-plugin": "NVIDIA",
  "mig-parted": "NVIDIA",
  aicr: "NVIDIA",
  "dra-driver-nvidia-gpu": "kubernetes-sigs",
  lws: "kubernetes-sigs",
  pulumi: "pulumi",
  "pulumi-kubernetes": "pulumi",
  "ollama-helm": "otwld",
};

/** A piece of a text: with an address if it names an issue of a repository. */
export interface Piece {
  text: string;
  /** Address of the issue. */
  href?: string;
}

/** Divides a text at the issues that it names, such as `talos#14373` and `NVIDIA/mig-parted#356`. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(/(?<![\w/#-])(?:([\w.-]+)\/)?([\w.-]+)#(\d+)\b/g)) {
    const [whole, named, repository, issue] = match;
    const owner = named ?? (Object.hasOwn(owners, repository!) ? owners[repository!] : undefined);
    if (owner === undefined) continue;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index) });
    pieces.push({ text: whole, href: `https://github.com/${owner}/${repository}/issues/${issue}` });
    end = match.index + whole.length;
  }
  return end < text.length ? [...pieces, { text: text.slice(end) }] : pieces;
}
