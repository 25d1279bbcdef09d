import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** A control plane's folder, and the ports of 127.0.0.1 at which its components listen. */
export interface Layout {
  folder: string;
  server: number;
  /** etcd's ports for clients and for peers; the lab's etcd has no peers. */
  etcd: number;
  peer: number;
  /** Names and addresses in the API server's certificate. */
  names: readonly string[];
}

/** Reads a file of this folder, and fills in a layout's values. */
const filled = (file: string, layout: Partial<Layout>): string =>
  readFileSync(path.join(__dirname, file), "utf8").replace(
    /\$\{(\w+)\}/g,
    (_, name: keyof Layout) =>
      typeof layout[name] === "object" ? JSON.stringify(layout[name]) : String(layout[name]),
  );

/** Configuration files of the components, by name. */
export const configurations = (layout: Layout): [file: string, text: string][] =>
  readdirSync(path.join(__dirname, "files")).map((file) => [file, filled(`files/${file}`, layout)]);

/** Configuration of kubeadm alone. Its keys are in `folder/pki`. */
export const kubeadmConfiguration = (layout: Pick<Layout, "folder" | "server" | "names">): string =>
  filled("files/kubeadm.yaml", layout);

/** A component of a control plane. */
export type ComponentName =
  "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/** Arguments of a component. */
export const flagsOf = (name: ComponentName, layout: Layout): string[] => {
  const all = parse(filled("flags.yaml", layout)) as Record<ComponentName, Record<string, unknown>>;
  return Object.entries(all[name]).map(([flag, value]) => `--${flag}=${String(value)}`);
};
