import { stringify } from "yaml";
import { anyText, asText, isMapping, listOf, valueAt } from "../../components/recipe/mapping";
import { lineOfText, type Piece } from "../lines";
import {
  gpu,
  type Machine,
  subjectOfMachines,
  subjectOfPatch,
  subjectOfSchematic,
  pieceOf,
  type Subject,
} from "./machines";

/** Machines in Omni's files: documents of a cluster template, or resources as `omnictl get -o yaml` prints them. */
export function subjectsOfOmni(values: Record<string, unknown>[], whole: Piece): Subject[] {
  const documents = values.filter(isOfTemplate);
  const resources = values.filter(isResource).map((value) => subjectOfResource(value, whole));
  return documents.length > 0 ? [subjectOfTemplate(documents, whole), ...resources] : resources;
}

/** Resources of Omni's, as `omnictl get -o yaml` prints them. */
const isResource = (value: Record<string, unknown>): boolean =>
  /^(?:ConfigPatches|ExtensionsConfigurations)\.omni\./.test(
    asText(valueAt(value, "metadata", "type")),
  );

/** A patch of a machine in Omni, or the extensions of its image. */
function subjectOfResource({ spec }: Record<string, unknown>, whole: Piece): Subject {
  const [patch, list] = [asText(valueAt(spec, "data")), valueAt(spec, "extensions")];
  if (patch !== "")
    return subjectOfPatch(pieceOf(whole.file, lineOfText(whole.text, patch), patch));
  return subjectOfSchematic(
    { customization: { systemExtensions: { officialExtensions: list } } },
    whole,
  );
}

/** Documents of Omni's cluster template (siderolabs/omni, client/pkg/template/internal/models). */
const isOfTemplate = (value: Record<string, unknown>): boolean =>
  value["apiVersion"] === undefined &&
  ["Cluster", "ControlPlane", "Workers", "Machine"].includes(anyText(value["kind"]));

/**
 * The machines of a cluster template: one for each document except the cluster's. Each machine also has the patches and
 * extensions of the cluster's document.
 */
function subjectOfTemplate(documents: Record<string, unknown>[], whole: Piece): Subject {
  const extensionsOf = (value: Record<string, unknown>): string[] =>
    listOf(value["systemExtensions"]).map(String);
  const piecesOf = (value: Record<string, unknown>): Piece[] =>
    listOf(value["patches"]).flatMap((patch) => {
      const inline = valueAt(patch, "inline");
      const text = isMapping(inline) ? stringify(inline) : asText(inline);
      // A patch that has a file to itself is checked as that file.
      return text === "" ? [] : [pieceOf(whole.file, lineOfText(whole.text, text), text)];
    });
  const [cluster = {}] = documents.filter(({ kind }) => kind === "Cluster");
  const controlPlaneIds = documents
    .filter(({ kind }) => kind === "ControlPlane")
    .flatMap((value) => listOf(value["machines"]));
  const machines = documents.flatMap((value, index): Machine[] => {
    if (value["kind"] === "Cluster") return [];
    const pieces = piecesOf(value);
    const extensions = [...extensionsOf(cluster), ...extensionsOf(value)];
    const hasGpu = /nvidia/.test([...extensions, ...pieces.map(({ text }) => text)].join());
    const role =
      value["kind"] === "ControlPlane" || controlPlaneIds.includes(value["name"])
        ? "controlplane"
        : "worker";
    const ownFields = {
      role,
      gpus: hasGpu ? [gpu] : [],
      extensions,
      kernelArgs: listOf(value["kernelArgs"]).map(String),
    } as const;
    return [{ name: `machine-${index}`, ownFields, pieces, image: whole }];
  });
  const subject = subjectOfMachines(
    machines,
    asText(valueAt(cluster, "talos", "version")) || undefined,
    piecesOf(cluster),
  );
  return { ...subject, isCluster: true };
}
