import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { readKubeconfig } from "../../components/clients/kubernetes/kubeconfig";
import {
  kubeconfigOfFiles,
  kubeconfigOfVariable,
} from "../../components/clients/kubernetes/kubeconfig-files";

/**
 * The kubeconfig that kubectl would use: a named file, else the files of KUBECONFIG, else `~/.kube/config`, else the
 * service account of the pod in which the command runs.
 *
 * @throws Error with a message for the user if no file can be read, or none names a cluster.
 */
export function usualKubeconfig(
  named: string | undefined,
  { KUBECONFIG }: NodeJS.ProcessEnv,
): KubeConfig {
  const file = named ?? (KUBECONFIG ? undefined : fileOfHome());
  if (file === undefined && !KUBECONFIG) return kubeconfigOfPod();
  try {
    return readKubeconfig(
      file === undefined ? kubeconfigOfVariable(KUBECONFIG!) : kubeconfigOfFiles([file]),
    );
  } catch (error) {
    throw new Error(
      `--kubeconfig: cannot be read (${(error as Error).message}), so Kubernetes cannot be reached; name another file`,
      { cause: error },
    );
  }
}

function fileOfHome(): string | undefined {
  const file = path.join(os.homedir(), ".kube", "config");
  return fs.existsSync(file) ? file : undefined;
}

function kubeconfigOfPod(): KubeConfig {
  if (!fs.existsSync("/var/run/secrets/kubernetes.io/serviceaccount/token"))
    throw new Error(
      "--kubeconfig: KUBECONFIG is not set and ~/.kube/config does not exist, so Kubernetes cannot be reached; name a file",
    );
  const config = new KubeConfig();
  config.loadFromCluster();
  return config;
}
