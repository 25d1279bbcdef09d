import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as k8s from "@kubernetes/client-node";
import { parse } from "yaml";

/**
 * The kubeconfig that kubectl would use: a named file, else the files of KUBECONFIG, else `~/.kube/config`, else that of the pod.
 * Of several files the first wins, for the current context as for each name; one that is not there is skipped, and an entry that
 * is not whole is left out (client-go, tools/clientcmd/loader.go). The client's own loader lets the last context win, and throws
 * at a name that comes twice.
 *
 * @throws Error with a message for the user where no file can be read, or none names a cluster.
 */
export function readKubeconfig(named: string | undefined, environment: NodeJS.ProcessEnv): k8s.KubeConfig {
  const files = named === undefined ? usualFiles(environment) : [named];
  const config = new k8s.KubeConfig();
  if (files.length === 0) {
    config.loadFromCluster();
    return config;
  }
  const parts = files.map(readPart);
  config.loadFromOptions({
    clusters: firstOfEachName(parts.flatMap(({ clusters }) => clusters)),
    contexts: firstOfEachName(parts.flatMap(({ contexts }) => contexts)),
    users: firstOfEachName(parts.flatMap(({ users }) => users)),
    currentContext: parts.map(({ currentContext }) => currentContext).find(Boolean),
  });
  if (config.clusters.length === 0) throw unusable(noKubeconfig);
  const user: User | null = config.getCurrentUser();
  if (user?.tokenFile === undefined) return config;
  return withToken(config, user, user.tokenFile);
}

/** A user as a file has it. */
interface User extends k8s.User {
  /** File with the token, as an absolute path. */
  tokenFile?: string;
}

/** The same in the file's own words. */
interface Named {
  name?: string;
  user?: { tokenFile?: string } | null;
}

type Part = Pick<k8s.KubeConfig, "clusters" | "contexts" | "currentContext"> & { users: User[] };

/** @returns empty for the kubeconfig of the pod that this runs in. */
function usualFiles({ KUBECONFIG }: NodeJS.ProcessEnv): string[] {
  const listed = [...new Set((KUBECONFIG ?? "").split(path.delimiter).filter(Boolean))];
  const usual = path.join(os.homedir(), ".kube", "config");
  if (listed.length === 0) {
    if (fs.existsSync(usual)) return [usual];
    if (fs.existsSync("/var/run/secrets/kubernetes.io/serviceaccount/token")) return [];
    throw new Error(
      "--kubeconfig: there is neither KUBECONFIG nor ~/.kube/config, so Kubernetes cannot be reached; name a file",
    );
  }
  const there = listed.filter((file) => fs.existsSync(file));
  return there.length > 0 ? there : listed; // so that reading says which is not there
}

function readPart(file: string): Part {
  const config = new k8s.KubeConfig();
  try {
    const text = fs.readFileSync(file, "utf8");
    if (text.trim() === "") return { ...config };
    config.loadFromString(text, { onInvalidEntry: "filter" });
    config.makePathsAbsolute(path.dirname(file));
    // The client leaves the field out.
    const { users } = parse(text, { merge: true }) as { users?: (Named | null)[] };
    const tokenFileOf = (name: string): string | undefined =>
      users?.find((one) => one?.name === name)?.user?.tokenFile || undefined;
    return {
      ...config,
      users: config.users.map((user) => {
        const tokenFile = tokenFileOf(user.name);
        return tokenFile === undefined ? user : { ...user, tokenFile: path.resolve(path.dirname(file), tokenFile) };
      }),
    };
  } catch (error) {
    throw unusable(error instanceof TypeError ? noKubeconfig : (error as Error).message.split("\n")[0]!, error);
  }
}

const firstOfEachName = <T extends { name: string }>(all: T[]): T[] =>
  all.filter(({ name }, index) => all.findIndex((one) => one.name === name) === index);

/** The file goes before a token that stands beside it, which is used where the file cannot be read (client-go, transport/round_trippers.go). */
function withToken(config: k8s.KubeConfig, user: User, tokenFile: string): k8s.KubeConfig {
  try {
    const token = fs.readFileSync(tokenFile, "utf8").trim();
    config.users = config.users.map((one) => (one.name === user.name ? { ...one, token } : one));
  } catch (error) {
    if (!user.token) throw unusable(`the token of user ${user.name}: ${(error as Error).message}`, error);
  }
  return config;
}

/** An empty file, a web page, a talosconfig: the library stumbles over some of them, and finds nothing in the others. */
const noKubeconfig = "it names no cluster, so it is no kubeconfig";

const unusable = (reason: string, cause?: unknown): Error =>
  new Error(
    `--kubeconfig: cannot be read (${reason}), so Kubernetes cannot be reached; name another file`,
    cause === undefined ? {} : { cause },
  );
