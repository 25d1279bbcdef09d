import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { type Document, parseAllDocuments, Scalar, visit } from "yaml";

/** Where a control plane keeps its files, and the ports of 127.0.0.1 at which its components listen. */
export interface Layout {
  folder: string;
  server: number;
  /** Etcd's ports, for clients and for its peers, of which it has none. */
  etcd: number;
  peer: number;
  /** Names and addresses that clients may know the API server by. */
  names: readonly string[];
}

/** Documents of a file of this folder, with a layout's values: a scalar that is one value alone becomes it, whatever its kind. */
function filled(file: string, layout: Layout): Document[] {
  const documents = parseAllDocuments(readFileSync(path.join(__dirname, file), "utf8")) as Document[];
  for (const document of documents)
    visit(document, {
      Scalar: (_, { value }) => {
        if (typeof value !== "string" || !value.includes("${")) return undefined;
        const [, alone] = /^\$\{(\w+)\}$/.exec(value) ?? [];
        if (alone !== undefined) return document.createNode(layout[alone as keyof Layout]);
        return new Scalar(value.replace(/\$\{(\w+)\}/g, (_, name: keyof Layout) => String(layout[name])));
      },
    });
  return documents;
}

/** Files that the components are configured with, by name. */
export const configurations = (layout: Layout): [file: string, text: string][] =>
  readdirSync(path.join(__dirname, "files")).map((file) => [
    file,
    filled(`files/${file}`, layout).map(String).join(""),
  ]);

/** A component of a control plane. */
export type ComponentName = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/** Arguments of a component. */
export const flagsOf = (name: ComponentName, layout: Layout): string[] =>
  Object.entries(filled("flags.yaml", layout)[0]!.toJS()[name] as Record<string, unknown>).map(
    ([flag, value]) => `--${flag}=${String(value)}`,
  );
