import type { Release } from "./definition";

/** Node's and Pulumi's name of what Go calls amd64. */
const x64 = (arch: string): string => (arch === "amd64" ? "x64" : arch);

const published = ({ os, arch }: { os: string; arch: string }): boolean =>
  ["linux", "darwin"].includes(os) && ["amd64", "arm64"].includes(arch);

/**
 * pulumi/pulumi, .github/workflows/sign.yml: `pulumi-VERSION-checksums.txt`; the archive has a folder `pulumi`, with the language
 * hosts beside the CLI (.goreleaser.yml). That of Node is taken too, so that the lab needs no stand-in of it.
 */
export const pulumiRelease = (version: string): Release => ({
  folder: `https://github.com/pulumi/pulumi/releases/download/v${version}`,
  file: (platform) =>
    published(platform) ? `pulumi-v${version}-${platform.os}-${x64(platform.arch)}.tar.gz` : undefined,
  sums: () => `pulumi-${version}-checksums.txt`,
  members: () => ["pulumi/pulumi", "pulumi/pulumi-language-nodejs"],
});

/** siderolabs/talos, Makefile: `talosctl-OS-ARCH` and `sha256sum.txt`. */
export const talosctlRelease = (version: string): Release => ({
  folder: `https://github.com/siderolabs/talos/releases/download/v${version}`,
  file: (platform) => (published(platform) ? `talosctl-${platform.os}-${platform.arch}` : undefined),
  sums: () => "sha256sum.txt",
});

/** helm/helm, Makefile (`checksum`): `FILE.sha256sum` beside each archive, which has a folder `OS-ARCH`. */
export const helmRelease = (version: string): Release => ({
  folder: "https://get.helm.sh",
  file: (platform) => (published(platform) ? `helm-v${version}-${platform.os}-${platform.arch}.tar.gz` : undefined),
  sums: (file) => `${file}.sha256sum`,
  members: ({ os, arch }) => [`${os}-${arch}/helm`],
});
