import { execFile } from "node:child_process";
import * as path from "node:path";
import { promisify } from "node:util";

/**
 * Runs a phase of `kubeadm init`, e.g. `certs all`.
 *
 * @param binary path of the program that contains kubeadm
 * @param folder folder with kubeadm's configuration, `kubeadm.yaml`
 */
export async function runKubeadm(
  binary: string,
  folder: string,
  ...phase: string[]
): Promise<void> {
  const args = [
    "kubeadm",
    "init",
    "phase",
    ...phase,
    "--config",
    path.join(folder, "kubeadm.yaml"),
  ];
  await promisify(execFile)(binary, args);
}
