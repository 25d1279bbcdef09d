import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import * as path from "node:path";
import { listen } from "../loopback";
import { CertificateAuthority } from "./certificates";
import { archiveName, ChartContents, pathOf } from "./contents";
import { type Answer, ChartRegistries } from "./oci";
import { startProxy } from "./proxy";

/** The lab's chart repositories: one for every real repository, whose address is the path. */
export interface ChartRepository {
  /** Address in the lab of a real repository, e.g. `https://nvidia.github.io/k8s-device-plugin`. */
  addressOf(repository: string): string;
  /**
   * Adds a release to the index, so that a stack with a newer one than the lab knows gets the nearest one under its
   * name.
   *
   * @param repository real repository of the chart. Default: the chart's own.
   */
  offer(chart: string, version: string, repository?: string): void;
  /**
   * Makes a script that starts a program which gets the lab's charts from their real addresses: with a proxy that
   * answers for these addresses, and with a certificate that makes the program trust the proxy. On macOS Go ignores
   * SSL_CERT_FILE (crypto/x509), so there it returns the program itself, and the program must read TALOS_GPU_CHARTS.
   *
   * @returns path of the script, which has the program's name
   */
  redirect(program: string): Promise<string>;
  close(): Promise<void>;
}

/**
 * Serves the lab's charts over HTTP as Helm repositories (helm.sh/docs/topics/chart_repository): an index.yaml, and an
 * archive for every release, packed at the first request. Helm also fetches both in a preview. At their real addresses
 * (`redirect`) they are repositories and registries.
 *
 * @param dir folder for charts and keys
 * @param controlPlane path of the program that contains kubeadm
 */
export async function serveCharts({
  dir,
  controlPlane,
}: {
  dir: string;
  controlPlane: string;
}): Promise<ChartRepository> {
  const contents = new ChartContents(dir);
  const registries = new ChartRegistries(contents);

  async function fileAt(address: string): Promise<Answer | undefined> {
    const slash = address.lastIndexOf("/");
    const [chart, file] = [contents.chartAt(address.slice(0, slash)), address.slice(slash + 1)];
    if (chart === undefined) return undefined;
    if (file === "index.yaml") return { body: contents.indexOf(chart) };
    const version = contents
      .releasesOf(chart)
      .find((release) => file === archiveName(chart, release));
    return version === undefined ? undefined : { body: await contents.archiveOf(chart, version) };
  }

  const atLab: RequestListener = ({ url = "" }, response) => reply(response, fileAt(url));
  const atRealAddress: RequestListener = ({ url = "", headers }, response) => {
    // Through a proxy, a request without TLS has the whole address, and one with TLS only the path.
    const address = /^http:\/\//.test(url) ? pathOf(url) : `/${headers.host}${url}`;
    const answer = registries.answer(address).then((found) => found ?? fileAt(address));
    reply(response, answer);
  };

  const { url, close } = await listen(createServer(atLab));
  const authority = new CertificateAuthority(path.join(dir, "certificates"), controlPlane);
  const proxy = await startProxy({
    authority,
    standsIn: (host) => contents.hasHost(host),
    answer: atRealAddress,
  });
  return {
    addressOf: (repository) => `${url}${pathOf(repository)}`,
    offer: (...offered) => contents.offer(...offered),
    redirect: async (program) => {
      if (process.platform === "darwin") return program;
      await authority.make();
      const script = path.join(dir, "redirected", path.basename(program));
      await mkdir(path.dirname(script), { recursive: true });
      await writeFile(script, redirection(program, proxy.url, authority.certificate));
      await chmod(script, 0o755);
      return script;
    },
    close: async () => {
      await Promise.all([close(), proxy.close()]);
    },
  };
}

const redirection = (program: string, proxy: string, certificate: string): string =>
  [
    "#!/bin/sh",
    "# Gets the lab's charts from their real addresses (lab/charts/repository.ts).",
    "unset TALOS_GPU_CHARTS NO_PROXY no_proxy",
    `export HTTP_PROXY='${proxy}' HTTPS_PROXY='${proxy}' SSL_CERT_FILE='${certificate}'`,
    `exec '${program}' "$@"`,
    "",
  ].join("\n");

function reply(
  response: Parameters<RequestListener>[1],
  answer: Promise<Answer | undefined>,
): void {
  const send = (status: number, { body, headers }: Answer): void => {
    response.writeHead(status, {
      ...headers,
      "content-length": Buffer.byteLength(body),
      connection: "close",
    });
    response.end(body);
  };
  answer.then(
    (found) => send(found === undefined ? 404 : 200, found ?? { body: "not found\n" }),
    (error: Error) => send(500, { body: `${error.message}\n` }),
  );
}
