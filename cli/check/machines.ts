import type { ClusterSpec, Finding, GpuSpec, MachineSpec } from "../../components/recipe/index";
import { readSchematic } from "../../components/recipe/index";
import { branchedName, nvidiaExtension } from "../../components/recipe/facts/extension";
import { readPatch } from "../../components/recipe/machine/user-patches";
import { asText, defined, filled, valueAt } from "../../components/recipe/mapping";
import { installerIn } from "../import/machine-configuration";
import { partOfOperations, finalPatchTexts } from "../import/operations";
import { unnamed } from "../stack-text";
import { partWriters, partsOf, type Part } from "./containerd-parts";
import type { Piece } from "../lines";

/** A stack with the same settings as a file, so that the checks of stacks apply to the file. */
export interface Subject {
  /** The stack. If the files set no Talos release, the caller sets the release. */
  spec: Partial<ClusterSpec>;
  /** Source of each field of the stack, by the field's path; the longest matching path counts. */
  pieces: Map<string, Piece>;
  /** Matches the fields that the files set. A finding about another field is dropped, since that field was made up. */
  about: RegExp;
  /**
   * Returns further findings for a Talos release: no check of stacks reports them, because a stack cannot have such
   * settings.
   */
  findings?: (talosVersion: string) => Finding[];
  /** Whether the subject is a whole cluster, such as that of a talconfig.yaml. */
  isCluster?: boolean;
  /**
   * One subject for each further part of containerd's configuration in the files, since a machine of a stack has only
   * one such part.
   */
  furtherSubjects?: Subject[];
}

/** The card of a machine whose files name none. */
export const gpu: GpuSpec = { model: unnamed };

/** A machine with its settings from files. */
export interface Machine {
  name: string;
  ownFields: Partial<MachineSpec>;
  pieces: Piece[];
  /** Source of the extensions and kernel arguments. */
  image?: Piece;
}

const textOfPiece = ({ text, part }: Piece): string => part ?? text;

const aboutMachines = /^machines\.|^patches\b|^talosVersion\b/;

/** Pieces, each with the settings that remain after later patches. */
function afterOperations(pieces: Piece[]): Piece[] {
  const finalTexts = finalPatchTexts(
    pieces.map(({ part, text }) => (partOfOperations(text) ? text : (part ?? text))),
  );
  return pieces.map((piece, index) =>
    finalTexts[index] === textOfPiece(piece) ? piece : { ...piece, part: finalTexts[index]! },
  );
}

/** The subject with these machines. */
export function subjectOfMachines(
  machines: Machine[],
  version?: string,
  everywhere: Piece[] = [],
): Subject {
  const shared = afterOperations(everywhere);
  const pieces = new Map<string, Piece>(shared.map((piece, index) => [`patches[${index}]`, piece]));
  const release =
    version === undefined
      ? {}
      : { talosVersion: version.startsWith("v") ? version : `v${version}` };
  const furtherSubjects: Subject[] = [];
  const writers = new Map<string, Part[]>();
  const entries = machines.map(
    ({ name, ownFields, pieces: ownPieces, image }): [string, MachineSpec] => {
      const texts = afterOperations([...ownPieces, ...everywhere]).slice(0, ownPieces.length);
      const field = `machines.${name}`;
      if (image) pieces.set(field, image);
      // A finding about an image's driver names the Talos release that contains the driver.
      if (image && ownFields.gpus?.length) pieces.set("talosVersion", image);
      texts.forEach((piece, index) => pieces.set(`${field}.patches[${index}]`, piece));
      const parts = [...texts, ...shared].flatMap((piece) => partsOf(piece, textOfPiece(piece)));
      const last = parts.at(-1);
      if (last) pieces.set(`${field}.containerd`, last.piece);
      writers.set(`${field}.containerd`, parts);
      const { role = "worker" } = ownFields;
      const machine: MachineSpec = {
        address: "192.0.2.1",
        configuration: "adopted",
        gpus: [gpu],
        ...ownFields,
        role,
      };
      for (const { extra, piece } of parts.slice(0, -1))
        furtherSubjects.push({
          spec: { ...release, machines: { [name]: { ...machine, containerd: { extra } } } },
          pieces: new Map([[`${field}.containerd`, piece]]),
          about: /^machines\..*\.containerd\b/,
        });
      return [
        name,
        {
          ...machine,
          ...filled({ patches: texts.map(textOfPiece), containerd: last && { extra: last.extra } }),
        },
      ];
    },
  );
  return {
    spec: {
      ...release,
      machines: Object.fromEntries(entries),
      ...filled({ patches: shared.map(textOfPiece) }),
    },
    pieces,
    about: aboutMachines,
    findings: (talosVersion) =>
      [...writers].flatMap(([field, parts]) => partWriters(field, parts, talosVersion)),
    furtherSubjects,
  };
}

/**
 * The piece of a text. If the text is a JSON patch (RFC 6902), the piece also has the patch's effect in the form of a
 * machine configuration.
 */
export function pieceOf(file: string, line: number, text: string): Piece {
  return { file, line, text, ...defined({ part: partOfOperations(text)?.text }) };
}

/** The subject of a patch. The subject's Talos release is that of the installer image in the patch. */
export function subjectOfPatch(whole: Piece): Subject {
  const image = asText(
    valueAt(readPatch(textOfPiece(whole), "").config, "machine", "install", "image"),
  );
  const { release } = installerIn(image);
  return subjectOfMachines(
    [{ name: "machine", ownFields: { role: "controlplane" }, pieces: [whole] }],
    release,
  );
}

/** The subject of a schematic: a machine with its image. */
export function subjectOfSchematic(raw: Record<string, unknown>, whole: Piece): Subject {
  const content = readSchematic(JSON.stringify(raw));
  const extensions = (content?.extensions ?? []).map(branchedName);
  const gpus = extensions.some((name) => nvidiaExtension(name) !== undefined) ? [gpu] : [];
  // Only the name of the image's installer shows the platform of the image.
  const kernelArgs = (content?.kernelArgs ?? []).filter(
    (arg) => !arg.startsWith("talos.platform="),
  );
  const ownFields = { gpus, extensions, kernelArgs };
  return subjectOfMachines([{ name: "schematic", ownFields, pieces: [], image: whole }]);
}
