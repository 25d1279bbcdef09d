import type { ClusterSpec, Finding, GpuSpec, MachineSpec } from "../../components/recipe/index";
import { readSchematic } from "../../components/recipe/index";
import { branchedName, nvidiaExtension } from "../../components/recipe/facts/extension";
import { readPatch } from "../../components/recipe/machine/user-patches";
import { asText, defined, filled, valueAt } from "../../components/recipe/mapping";
import { installerIn } from "../import/machine-configuration";
import { partOfOperations, saidInTheEnd } from "../import/operations";
import { unnamed } from "../stack-text";
import { partWriters, partsOf, type Part } from "./containerd-parts";
import type { Piece } from "../lines";

/** Something that a file says, as the stack that says the same. */
export interface Subject {
  /** Without a release: the release is the caller's to name, unless the files name one. */
  spec: Partial<ClusterSpec>;
  /** Source of each field of the stack, by the field's path; the longest matching path counts. */
  pieces: Map<string, Piece>;
  /** Only findings of these fields are about the files; the rest of the stack was made up. */
  about: RegExp;
  /** Findings on a release that no check of stacks reports. */
  findings?: (talosVersion: string) => Finding[];
  /** Whether it is all of a cluster, such as a talconfig.yaml says it. */
  isCluster?: boolean;
  /**
   * Further subjects: these machines with the files' other containerd parts, since a stack has one part for each
   * machine.
   */
  others?: Subject[];
}

/** A card that no file names. */
export const gpu: GpuSpec = { model: unnamed };

/** A machine, as files say it. */
export interface Machine {
  name: string;
  own: Partial<MachineSpec>;
  pieces: Piece[];
  /** Source of the extensions and kernel arguments. */
  image?: Piece;
}

const saidBy = ({ text, part }: Piece): string => part ?? text;

const aboutMachines = /^machines\.|^patches\b|^talosVersion\b/;

/** Pieces with what each of them says in the end. */
function afterOperations(pieces: Piece[]): Piece[] {
  const said = saidInTheEnd(
    pieces.map(({ part, text }) => (partOfOperations(text) ? text : (part ?? text))),
  );
  return pieces.map((piece, index) =>
    said[index] === saidBy(piece) ? piece : { ...piece, part: said[index]! },
  );
}

/** Machines whose configuration is these texts. */
export function ofMachines(
  machines: Machine[],
  version?: string,
  everywhere: Piece[] = [],
): Subject {
  const shared = afterOperations(everywhere);
  const pieces = new Map<string, Piece>(shared.map((piece, index) => [`patches[${index}]`, piece]));
  const talos =
    version === undefined
      ? {}
      : { talosVersion: version.startsWith("v") ? version : `v${version}` };
  const others: Subject[] = [];
  const writers = new Map<string, Part[]>();
  const entries = machines.map(({ name, own, pieces: written, image }): [string, MachineSpec] => {
    const texts = afterOperations([...written, ...everywhere]).slice(0, written.length);
    const field = `machines.${name}`;
    if (image) pieces.set(field, image);
    // A finding on an image's driver names the release that brings the driver.
    if (image && own.gpus?.length) pieces.set("talosVersion", image);
    texts.forEach((piece, index) => pieces.set(`${field}.patches[${index}]`, piece));
    const parts = [...texts, ...shared].flatMap((piece) => partsOf(piece, saidBy(piece)));
    const last = parts.at(-1);
    if (last) pieces.set(`${field}.containerd`, last.piece);
    writers.set(`${field}.containerd`, parts);
    const { role = "worker" } = own;
    const machine: MachineSpec = {
      address: "192.0.2.1",
      configuration: "adopted",
      gpus: [gpu],
      ...own,
      role,
    };
    for (const { extra, piece } of parts.slice(0, -1))
      others.push({
        spec: { ...talos, machines: { [name]: { ...machine, containerd: { extra } } } },
        pieces: new Map([[`${field}.containerd`, piece]]),
        about: /^machines\..*\.containerd\b/,
      });
    return [
      name,
      {
        ...machine,
        ...filled({ patches: texts.map(saidBy), containerd: last && { extra: last.extra } }),
      },
    ];
  });
  return {
    spec: {
      ...talos,
      machines: Object.fromEntries(entries),
      ...filled({ patches: shared.map(saidBy) }),
    },
    pieces,
    about: aboutMachines,
    findings: (talosVersion) =>
      [...writers].flatMap(([field, parts]) => partWriters(field, parts, talosVersion)),
    others,
  };
}

/** A text, with what it says as a part of a configuration where it is a list of operations. */
export function pieceOf(file: string, line: number, text: string): Piece {
  return { file, line, text, ...defined({ part: partOfOperations(text)?.text }) };
}

/** A patch; the installer that it names tells its release. */
export function ofPatch(whole: Piece): Subject {
  const image = asText(valueAt(readPatch(saidBy(whole), "").config, "machine", "install", "image"));
  const { release } = installerIn(image);
  return ofMachines([{ name: "machine", own: { role: "controlplane" }, pieces: [whole] }], release);
}

/** The image of a schematic. */
export function ofSchematic(raw: Record<string, unknown>, whole: Piece): Subject {
  const content = readSchematic(JSON.stringify(raw));
  const extensions = (content?.extensions ?? []).map(branchedName);
  const gpus = extensions.some((name) => nvidiaExtension(name) !== undefined) ? [gpu] : [];
  // Which platform the image is for only its installer's name tells.
  const kernelArgs = (content?.kernelArgs ?? []).filter(
    (arg) => !arg.startsWith("talos.platform="),
  );
  const own = { gpus, extensions, kernelArgs };
  return ofMachines([{ name: "schematic", own, pieces: [], image: whole }]);
}
