import { copyFile, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { kubeadmConfiguration } from "../controlplane/configuration";
import { runKubeadm } from "../controlplane/kubeadm";

/**
 * A certificate authority for servers that stand in for public ones. Node cannot make certificates, so kubeadm makes
 * them, each as that of an API server with the server's name.
 */
export class CertificateAuthority {
  private readonly contexts = new Map<string, Promise<SecureContext>>();
  private made: Promise<void> | undefined;

  /**
   * @param dir folder for its keys
   * @param controlPlane path of the program that contains kubeadm
   */
  constructor(
    private readonly dir: string,
    private readonly controlPlane: string,
  ) {}

  /** Path of its own certificate, for clients. It exists after `make`. */
  get certificate(): string {
    return path.join(this.dir, "pki", "ca.crt");
  }

  /** Makes its key and its own certificate, once. */
  make(): Promise<void> {
    this.made ??= this.runPhase(this.dir, "ca", []);
    return this.made;
  }

  /** A key and a certificate for a server's name or address. */
  contextFor(host: string): Promise<SecureContext> {
    const context = this.contexts.get(host) ?? this.makeContext(host);
    this.contexts.set(host, context);
    context.catch(() => this.contexts.delete(host)); // the next request tries again, e.g. after a full disk
    return context;
  }

  private async makeContext(host: string): Promise<SecureContext> {
    await this.make();
    const folder = await mkdtemp(path.join(this.dir, "server-"));
    const pki = path.join(folder, "pki");
    await mkdir(pki);
    for (const file of ["ca.crt", "ca.key"])
      await copyFile(path.join(this.dir, "pki", file), path.join(pki, file));
    await this.runPhase(folder, "apiserver", [host]);
    const read = (file: string): Promise<Buffer> => readFile(path.join(pki, file));
    return createSecureContext({
      key: await read("apiserver.key"),
      cert: await read("apiserver.crt"),
    });
  }

  private async runPhase(folder: string, phase: string, names: string[]): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const text = kubeadmConfiguration({ folder, server: 443, names });
    await writeFile(path.join(folder, "kubeadm.yaml"), text);
    await runKubeadm(this.controlPlane, folder, "certs", phase);
  }
}
