import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** Where a control plane keeps its files, and the ports of 127.0.0.1 at which its components listen. */
export interface Layout {
  folder: string;
  server: number;
  /** Etcd's ports, for clients and for peers (it has no peers). */
  etcd: number;
  peer: number;
  /** Names and addresses that clients may know the API server by. */
  names: readonly string[];
}

/** A file of this folder, with a layout's values. */
const filled = (file: string, layout: Layout): string =>
  readFileSync(path.join(__dirname, file), "utf8").replace(
    /\$\{(\w+)\}/g,
    (_, name: keyof Layout) =>
      typeof layout[name] === "object" ? JSON.stringify(layout[name]) : String(layout[name]),
  );

/** Files that the components are configured with, by name. */
export const configurations = (layout: Layout): [file: string, text: string][] =>
  readdirSync(path.join(__dirname, "files")).map((file) => [file, filled(`files/${file}`, layout)]);

/** A component of a control plane. */
export type ComponentName =
  "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/** Arguments of a component. */
export const flagsOf = (name: ComponentName, layout: Layout): string[] => {
  const all = parse(filled("flags.yaml", layout)) as Record<ComponentName, Record<string, unknown>>;
  return Object.entries(all[name]).map(([flag, value]) => `--${flag}=${String(value)}`);
};
