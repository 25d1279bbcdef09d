import { execFile } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { promisify } from "node:util";
import { stringify } from "yaml";

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
    return path.join(this.dir, "ca.crt");
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
    return context;
  }

  private async makeContext(host: string): Promise<SecureContext> {
    await this.make();
    const folder = path.join(this.dir, `of-${this.contexts.size}`);
    await mkdir(folder, { mode: 0o700 });
    for (const file of ["ca.crt", "ca.key"])
      await copyFile(path.join(this.dir, file), path.join(folder, file));
    await this.runPhase(folder, "apiserver", [host]);
    const read = (file: string): Promise<Buffer> => readFile(path.join(folder, file));
    return createSecureContext({
      key: await read("apiserver.key"),
      cert: await read("apiserver.crt"),
    });
  }

  private async runPhase(folder: string, phase: string, certSANs: string[]): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const configuration = path.join(folder, "kubeadm.yaml");
    const apiVersion = "kubeadm.k8s.io/v1beta4";
    const documents = [
      {
        apiVersion,
        kind: "InitConfiguration",
        // Without an address, kubeadm looks for one of this computer. RFC 5737 keeps this one free.
        localAPIEndpoint: { advertiseAddress: "192.0.2.1" },
        nodeRegistration: { name: "lab", criSocket: "unix:///none" },
      },
      {
        apiVersion,
        kind: "ClusterConfiguration",
        kubernetesVersion: "v1.36.3", // else kubeadm asks its project for the newest
        certificatesDir: folder,
        encryptionAlgorithm: "ECDSA-P256",
        apiServer: { certSANs },
      },
    ];
    await writeFile(configuration, documents.map((document) => stringify(document)).join("---\n"));
    const args = ["kubeadm", "init", "phase", "certs", phase, "--config", configuration];
    await promisify(execFile)(this.controlPlane, args, { timeout: 60_000 });
  }
}
