import * as fs from "node:fs";
import * as path from "node:path";
import { reasonOf } from "../../../components/lookups/bounded-file";
import { readPatch } from "../../../components/recipe/machine/user-patches";
import {
  asText,
  defined,
  isMapping,
  listAt,
  mappingAt,
  valueAt,
} from "../../../components/recipe/mapping";
import { type FieldFinding } from "../../../components/recipe/rules/finding";
import { talosDocuments, valueOfDocument } from "../../../components/recipe/rules/yaml";
import { installerIn } from "../machine-configuration";
import type { PatchFile } from "../places";
import { idOf, type RawSchematic } from "../schematics";
import { isEncrypted } from "../substitute";
import type { Talconfig, TalconfigNode } from "../talconfig";
import { type Unread, whyUnread } from "../unread";
import { renderTemplate } from "./go-template";
import { ofProgram, ofTemplate, rendering } from "../only-topf";

/**
 * Machines of a `topf.yaml`, in the form of a talconfig (postfinance/topf, pkg/config/topf_config.go and node.go). A
 * machine's patches are the files of the folder `all`, then those of its role's folder, then those of its host's
 * folder. The files of a folder are sorted by name (pkg/config/patches.go).
 */
export interface ReadTopf {
  config: Talconfig;
  /** Source files of patches, by the patch's text. */
  patchFiles: Map<string, PatchFile>;
  /** Schematics from files that the topf.yaml names (`schematicId: "@schematic.yaml"`). */
  schematics: RawSchematic[];
  unread: Unread[];
  notes: FieldFinding[];
}

/** Whether a text is a `topf.yaml`: it names an endpoint, and a list of hosts or a program that returns them. */
export function isTopf(text: string): boolean {
  if (!/^clusterEndpoint:/m.test(text)) return false;
  const [root] = talosDocuments(text).map(valueOfDocument);
  if (!isMapping(root)) return false;
  const nodes = listAt(root, "nodes");
  return (
    nodes.some((node) => "host" in node && "role" in node) ||
    (nodes.length === 0 && "nodesProvider" in root)
  );
}

/** Access to the files and variables that a topf.yaml uses. */
export interface Reading {
  /** Returns the text of a file of the project; throws an error with the reason. */
  textOf: (file: string) => string;
  /**
   * Whether a folder, with its symbolic links resolved, belongs to the project. File names from other folders must not
   * be printed.
   */
  isOfProject: (folder: string) => boolean;
  /** Environment variables that templates may read. */
  environment: Record<string, string | undefined>;
}

/**
 * Reads a topf.yaml with its patches, and renders their templates.
 *
 * @throws Error if the topf.yaml names no machine.
 */
export function readTopf(
  file: string,
  text: string,
  { textOf, isOfProject, environment }: Reading,
): ReadTopf {
  const root = mappingAt(valueOfDocument(talosDocuments(text)[0]!));
  const folder = path.dirname(path.resolve(file));
  const patchesFolder = path.resolve(folder, asText(root["patchesDir"]));
  const patchFiles = new Map<string, PatchFile>();
  const schematics: RawSchematic[] = [];
  const unread = new Map<string, Unread>();
  const reportUnread = (field: string, name: string, reason: string): void =>
    void unread.set(name, { field, file: name, reason });

  const sources = new Map<string, string | undefined>();
  /** Text of a file; undefined if it cannot be read. Each file is read once. */
  const sourceOf = (field: string, name: string): string | undefined => {
    if (sources.has(name)) return sources.get(name);
    let source: string | undefined;
    try {
      source = textOf(name);
      const reason = name.endsWith(".tpl") ? undefined : whyUnread(source);
      if (reason !== undefined) {
        reportUnread(field, name, reason);
        source = undefined;
      }
    } catch (error) {
      reportUnread(field, name, reasonOf(error));
    }
    sources.set(name, source);
    return source;
  };
  let renderings = 0;
  /** A node's patch from a file: the source text and the rendered text. */
  const renderFile = (
    field: string,
    name: string,
    data: object,
  ): { source: string; text: string } | undefined => {
    const source = sourceOf(field, name);
    if (source === undefined || !name.endsWith(".tpl"))
      return source === undefined ? undefined : { source, text: source };
    if (++renderings > mostTemplates)
      throw new Error(
        `FILE: has more than ${mostTemplates} templates in all, and rendering them takes too long; give a topf.yaml with fewer machines`,
      );
    try {
      return { source, text: renderTemplate(source, data, environment) };
    } catch (error) {
      reportUnread(field, name, `${ofTemplate}${(error as Error).message}`);
      return undefined;
    }
  };

  const nodes = listAt(root, "nodes").map((node): { node: TalconfigNode; version?: string } => {
    const setting = (key: string): string => asText(node[key]) || asText(root[key]);
    const role = asText(node["role"]);
    const host = asText(node["host"]);
    const ip = asText(node["ip"]);
    const data = contextOf(root, node, patchesFolder);
    const statedSchematicId = setting("schematicId");
    let id = statedSchematicId;
    if (statedSchematicId.startsWith("@")) {
      const schematic = renderFile(
        "schematicId",
        path.resolve(folder, statedSchematicId.slice(1)),
        data,
      );
      const raw = schematic && talosDocuments(schematic.text).map(valueOfDocument).find(isMapping);
      if (raw !== undefined) schematics.push(raw);
      id = raw === undefined ? unknownId : idOf(raw);
    }
    const withId = { ...data, SchematicID: id || plainId };
    const files = ["all", role, path.join("node", host)].flatMap((part) =>
      patchesBelow(path.join(patchesFolder, part), isOfProject),
    );
    const patches = files.flatMap((patchFile) => {
      const patch = renderFile("patches", patchFile, withId);
      if (patch === undefined || patch.text.trim() === "") return [];
      patchFiles.set(patch.text, { file: patchFile, text: patch.source });
      return [patch.text];
    });
    // A patch's installer overrides topf's own (internal/topf/nodes.go, generateNodeConfig).
    const images = patches.flatMap(
      (patch) => asText(valueAt(readPatch(patch, "").config, "machine", "install", "image")) || [],
    );
    const installerUrl = images.at(-1);
    const { image, release } = installerUrl === undefined ? {} : installerIn(installerUrl);
    const isSecure = node["secureboot"] === true || root["secureboot"] === true;
    const installer = `${setting("factory") || "factory.talos.dev"}/${setting("platform") || "metal"}-installer${isSecure ? "-secureboot" : ""}`;
    const hostname = patches.flatMap((patch) => readPatch(patch, "").hostnames).at(-1);
    return {
      node: {
        // A host name that SOPS has encrypted cannot be read.
        hostname: hostname === undefined || isEncrypted(hostname) ? host : hostname,
        // Without an address, topf connects to the machine by its host name (pkg/config/node.go, Endpoint).
        ipAddress: isEncrypted(ip) ? "" : ip || host,
        controlPlane: role === "control-plane",
        ...(id === "" && image === undefined
          ? {}
          : { talosImageURL: imageName(image, installerUrl) ?? `${installer}/${id}` }),
        patches,
      },
      ...defined({ version: release ?? (setting("talosVersion") || undefined) }),
    };
  });
  if ("nodesProvider" in root)
    reportUnread("nodesProvider", path.resolve(folder, asText(root["nodesProvider"])), ofProgram);
  if (nodes.length === 0)
    throw new Error(
      `FILE: a program returns the nodes (nodesProvider). This command does not run the program, so the machines are unknown; ${rendering}, and import the files that topf writes`,
    );
  const versions = [...new Set(nodes.map(({ version = "" }) => version.replace(/^v/, "")))];
  const [version] = versions;
  const factory = asText(root["factory"]);
  return {
    config: {
      ...defined({
        talosVersion:
          versions.length === 1 && version
            ? `v${version}`
            : asText(root["talosVersion"]) || undefined,
      }),
      ...(factory === "" ? {} : { imageFactory: { registryURL: factory } }),
      nodes: nodes.map(({ node }) => node),
    },
    patchFiles,
    schematics,
    unread: [...unread.values()],
    notes: versions.length > 1 ? [severalReleases(versions)] : [],
  };
}

/** Placeholder for the ID of a schematic that cannot be read. No schematic has this ID. */
const unknownId = "0".repeat(64);
/** The empty schematic (postfinance/topf, internal/topf/node.go, DefaultSchematic). */
const plainId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

/**
 * An installer image in the form for a talconfig. An Image Factory's image, whose name contains the schematic's ID, has
 * no tag there. A custom image keeps its tag.
 */
const imageName = (image: string | undefined, whole: string | undefined): string | undefined =>
  image === undefined || /\/[0-9a-f]{64}$/.test(image) ? image : whole;

const severalReleases = (versions: string[]): FieldFinding => ({
  field: "talosVersion",
  problem: `has several values (${versions.map((version) => (version === "" ? "none" : `v${version}`)).join(", ")})`,
  why: "all machines of a stack run the same release",
  remedy: "name the release that the machines should run (--talos), or make one stack per release",
});

/** Data for templates (postfinance/topf, pkg/config/patches.go, PatchContext). */
function contextOf(
  root: Record<string, unknown>,
  node: Record<string, unknown>,
  folder: string,
): Record<string, unknown> {
  const text = (object: Record<string, unknown>, key: string): string => asText(object[key]);
  return {
    ClusterName: text(root, "clusterName"),
    ClusterEndpoint: text(root, "clusterEndpoint"),
    KubernetesVersion: text(root, "kubernetesVersion"),
    TalosVersion: text(root, "talosVersion"),
    SchematicID: text(node, "schematicId") || text(root, "schematicId") || plainId,
    Data: mappingAt(root["data"]),
    PatchesDir: folder,
    Node: {
      Host: text(node, "host"),
      Role: text(node, "role"),
      IP: node["ip"] ?? null,
      Data: mappingAt(node["data"]),
      TalosVersion: text(node, "talosVersion"),
      SchematicID: text(node, "schematicId"),
      Factory: text(node, "factory"),
      Platform: text(node, "platform"),
      SecureBoot: node["secureboot"] === true,
    },
  };
}

/** The largest number of templates that are rendered: 50 for each of 200 machines. */
const mostTemplates = 10_000;

/**
 * Files of a folder and its subfolders that topf uses as patches, by name. Like topf, the function follows symbolic
 * links.
 */
function patchesBelow(folder: string, isOfProject: Reading["isOfProject"], depth = 0): string[] {
  if (depth > 8 || !fs.existsSync(folder) || !isOfProject(folder)) return [];
  const names = fs.readdirSync(folder).sort().slice(0, 1000);
  return names.flatMap((name) => {
    const file = path.join(folder, name);
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return patchesBelow(file, isOfProject, depth + 1);
    return stat?.isFile() && /\.ya?ml(?:\.tpl)?/.test(name) ? [file] : [];
  });
}
