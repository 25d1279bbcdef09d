import { stringify } from "yaml";
import { asText, flat, isMapping, listAt } from "../../components/recipe/mapping";
import { readPatch } from "../../components/recipe/machine/user-patches";
import { customizationPath, type KernelModule } from "../../components/recipe/index";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";
import { partOfOperations } from "./operations";
import type { PlaceOf } from "./places";
import { isEncrypted } from "./substitute";
import type { FieldFinding } from "../../components/recipe/rules/finding";

/** NVIDIA's settings in a patch or in a machine's configuration. An import ignores all other settings. */
export interface NvidiaPart {
  /** Whether the patch loads NVIDIA's modules or lists their extensions. */
  mentionsNvidia: boolean;
  /** NVIDIA's modules that have parameters. */
  modules: KernelModule[];
  /** Labels and taints of the node, which the stack sets through the Kubernetes API. */
  labels: Record<string, string>;
  taints: Record<string, string>;
  /** Items of `machine.files` that write the file with containerd's options, in their order. */
  containerd: ContainerdItem[];
  notes: FieldFinding[];
}

/** An item of `machine.files` that writes the file with containerd's options. */
export interface ContainerdItem {
  /** Content of the file, in TOML. */
  content: string;
  /** Whether it mentions NVIDIA. */
  isOfNvidia: boolean;
  /** File and line of the item, if known. */
  place: string | undefined;
}

/**
 * Reads NVIDIA's settings in a patch or a configuration.
 *
 * @param field path of the patch, for messages
 * @param placeOf returns the file and the line. Default: no place is known.
 * @param finalText the patch without the values that later patches override. Default: the whole patch.
 */
export function nvidiaPart(
  text: string,
  field: string,
  placeOf: PlaceOf = () => undefined,
  finalText?: string,
): NvidiaPart {
  const operations = partOfOperations(text);
  const { flaw, config, modules, nodeLabels, nodeTaints, taints, files } = readPatch(
    finalText ?? operations?.text ?? text,
    field,
  );
  const nvidiaModules = modules
    .map(({ name, parameters }) => ({ name: name.replaceAll("-", "_"), parameters }))
    .filter(({ name }) => /^nvidia(_|$)/.test(name));
  const images = listAt(config, "machine", "install", "extensions").map(({ image }) =>
    asText(image),
  );
  const items = files.filter(({ path }) => path === customizationPath);
  // Without NVIDIA's name a part may set CDI folders of other vendors, or images and sockets (onedr0p's template). Such
  // a part is not imported.
  const containerd = items.map(({ content }) => ({
    content,
    isOfNvidia: /nvidia/.test(withoutComments(content)),
    place: placeOf(text, customizationPath),
  }));
  const place = placeOf(text, flaw?.detail ?? "nvidia");
  const unreadable =
    flaw?.kind === "yaml" ? `is no YAML (${flaw.detail})` : "is a JSON patch (RFC 6902)";
  return {
    mentionsNvidia: nvidiaModules.length > 0 || images.some((image) => image.includes("nvidia")),
    modules: nvidiaModules.filter(({ parameters }) => parameters.length > 0),
    labels: Object.fromEntries(nodeLabels),
    // `taints` also has those of the kubelet, which sets them only once, at the registration of its node. A text with a
    // variable of talhelper cannot be parsed, so it is only in `nodeTaints`.
    taints: Object.fromEntries([
      ...taints.map(({ key, value = "", effect }) => [key, `${value}:${effect}`]),
      ...nodeTaints,
    ]) as Record<string, string>,
    containerd,
    notes: flat<FieldFinding>([
      (operations?.rest || (flaw !== undefined && flaw.kind !== "shape")) &&
      /nvidia/i.test(withoutComments(text))
        ? {
            field,
            problem: place === undefined ? unreadable : `${place} ${unreadable}`,
            why: "the patch mentions NVIDIA, but the import cannot determine the effect of this patch",
            remedy: "write the patch's settings for NVIDIA into the stack",
          }
        : undefined,
      images.length > 0
        ? {
            field,
            problem: "has machine.install.extensions",
            why: "the stack's image lacks these extensions, and Talos ≥ 1.10 ignores the field",
            remedy:
              "list the official extensions that are not NVIDIA's under `extensions` of the machine",
          }
        : undefined,
    ]),
  };
}

/** A patch that writes a file of a machine. */
export const filePatch = (file: object): string => stringify({ machine: { files: [file] } });

const withoutComments = (text: string): string => text.replaceAll(/(^|\s)#[^\n]*/g, "");

/** The documents of a text that are mappings, as Talos reads them. */
export const mappingsIn = (text: string): Record<string, unknown>[] =>
  talosDocuments(text).map(valueOfDocument).filter(isMapping);

/** Whether a text has `${A}`. */
function hasVariable(text: string): boolean {
  for (let start = text.indexOf("${"); start >= 0; start = text.indexOf("${", start + 2)) {
    const end = text.indexOf("}", start);
    if (end < 0) return false;
    if (end > start + 2) return true;
  }
  return false;
}

/**
 * Problem and remedy for a text that talhelper must still fill in, or that SOPS has encrypted; undefined for any other
 * text. talhelper fills in variables, and since v3.0.39 Go templates (talhelper, pkg/substitute/envsubst.go,
 * pkg/templating/template.go).
 */
export function unfilledIn(text: string): Pick<FieldFinding, "problem" | "remedy"> | undefined {
  if (hasVariable(text))
    return {
      problem: "contains a variable of talhelper",
      remedy: "write the variable's value, or pass the file of variables (--env-file)",
    };
  if (isEncrypted(text))
    return {
      problem: "is encrypted by SOPS",
      remedy: "if the value is not secret, write it here. Otherwise leave it to talhelper",
    };
  if (text.includes("{{"))
    return {
      problem: "contains a template of talhelper",
      remedy: "write the value that `talhelper genconfig` generates from the template",
    };
  return undefined;
}
