import { soundsLikeNvidia, unsuffixedNames } from "../facts/extension";
import { installer, multipath } from "../facts/data/since.json";
import { configuresMultipath, refusesMultipath } from "../facts/multipath";
import { extensionsOf, minorsWith } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { moduleParameterIn } from "../machine/kernel-args";
import { officialName } from "../machine/losses";
import { asText, listOf, type Nested, valueAt } from "../mapping";
import { closest, didYouMean, type Fault, shown } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  complaint,
  fault,
  type Found,
  ofMachines,
  ofPatches,
  type ReachingPatch,
  together,
} from "./check";

/** What a machine's image has: extensions, kernel arguments, module parameters. */
export const imageChecks: Checks = {
  "extension-name": ofMachines((machine, { spec, release }) =>
    (machine.spec.extensions ?? []).flatMap((name, index) => {
      const field = `.extensions[${index}]`;
      const suffixed = Object.hasOwn(unsuffixedNames, name) ? unsuffixedNames[name] : undefined;
      const things = { name: shown(name), suffixed: suffixed?.join(" or ") };
      // image-factory, internal/profile/profile.go, ExtensionNameAlias; omni, extensions.go: both names stand for one that was renamed since.
      const isFabricManager = /fabric-?manager$/.test(name);
      if (suffixed) return complaint(field, `extension-name/${isFabricManager ? "fabric" : "branch"}`, things);
      if (minorsWith(name).length > 0 || release?.extensions?.includes(name)) return [];
      const known = release ? [...extensionsOf(release.minor.minor)].map(withoutPrefix) : [];
      const meant = closest(withoutPrefix(name), known);
      // A Factory of one's own may list others. Its installer is asked for before any machine reboots.
      if (spec.factoryUrl !== undefined && meant === undefined && !soundsLikeNvidia(name)) return [];
      const which = soundsLikeNvidia(name) ? "of-nvidia" : meant === undefined ? "own" : "unknown";
      return complaint(field, `extension-name/${which}`, { name: shown(name), meant });
    }),
  ),
  "extension-release": ofMachines((machine, { spec, release }) =>
    (machine.spec.extensions ?? []).flatMap((name, index) => {
      const minors = minorsWith(name);
      if (!release || minors.length === 0) return [];
      if (release.extensions?.includes(name) ?? minors.includes(release.minor.minor)) return [];
      const last = minors.at(-1) ?? 0;
      const range = last < release.minor.minor ? `up to Talos 1.${last}` : `from Talos 1.${minors[0]} on`;
      return complaint(`.extensions[${index}]`, "extension-release", { name, spec, range });
    }),
  ),
  "extension-without-gpu": ofMachines(({ gpuCount, spec: { extensions = [] } }) =>
    extensions.map(
      (name, index) =>
        gpuCount === 0 &&
        soundsLikeNvidia(name) &&
        complaint(`.extensions[${index}]`, "extension-without-gpu", { name }),
    ),
  ),
  "image-lists": ofMachines(({ field, spec }) =>
    lists.flatMap((list): Found => {
      const name = list === "extensions" ? officialName : (text: string): string => text;
      const brought = (spec[list] ?? []).map(name);
      const twice = brought.findIndex((each, index) => brought.indexOf(each) < index);
      const dropped = (spec.drop?.[list] ?? []).findIndex((each) => brought.includes(name(each)));
      const [again, lost] = [spec[list]?.[twice], spec.drop?.[list]?.[dropped]];
      return [
        list !== "kernelArgs" &&
          again !== undefined &&
          complaint(`.${list}[${twice}]`, "image-lists/twice", { name: shown(again) }),
        lost !== undefined &&
          complaint(`.drop.${list}[${dropped}]`, "image-lists/dropped", { name: shown(lost), field, list }),
      ];
    }),
  ),
  "kernel-args": together(ofMachines(machineArgs), ofPatches(patchArgs)),
  "module-parameters": ofMachines((machine, { clusterPatches }) =>
    Object.entries(machine.spec.moduleParameters ?? {}).flatMap(([module, parameters]): Found => {
      const field = `.moduleParameters.${module}`;
      const ours = machine.recipe.kernelModules.map(({ name }) => name);
      if (machine.gpuCount === 0 && /^nvidia(?:_|$)/.test(module))
        return complaint(field, "module-parameters/no-gpu", { module });
      const known = ours.length === 0 ? "this machine has no GPU" : `it loads ${ours.join(", ")}`;
      if (!ours.includes(module))
        return complaint(field, "module-parameters/unknown", { module, known, meant: didYouMean(module, ours) });
      const rival = [...clusterPatches, ...machine.patches].find(({ modules }) =>
        modules.some(({ name }) => name === module),
      );
      if (rival !== undefined) return complaint(field, "module-parameters/rival", { rival, module });
      const odd = parameters.find((text) => !/^[\w-]+(?:=(?:"[^"]*"|[^\s"])*)?$/.test(text));
      return odd === undefined ? [] : complaint(field, "module-parameters/odd", { odd });
    }),
  ),
  "installer-image": ofMachines(ofOwnImage),
  multipath: ofPatches(({ patch, machines }) => {
    const configures = patch.documents.map(valueOfDocument).some(configuresMultipath);
    const machine = machines.find(
      ({ spec, recipe }) =>
        refusesMultipath(recipe.talosVersion) &&
        (spec.installerImage !== undefined || recipe.extensions.includes(multipath.extension)),
    );
    return configures && machine !== undefined && fault("multipath", { machine, ...multipath });
  }),
};

const minorOf = (talosVersion: string): number => parseTalosVersion(talosVersion)?.minor ?? 0;

/** Fields of what only the Image Factory would put into an image, or into its name. */
const ofFactory = ["extensions", "kernelArgs", "overlay", "customization", "platform", "secureBoot"] as const;

/** A reference with its registry, and a tag, a digest or both. */
const reference = /^[^/\s]+(?:\/[^/:@\s]+)+(?=[:@])(?::(?<tag>\w[\w.-]*))?(?:@sha256:[0-9a-f]{64})?$/;

function ofOwnImage({ spec, recipe: { talosVersion } }: CheckedMachine): Found {
  const image = spec.installerImage;
  if (image === undefined || spec.configuration === "omni") return undefined; // omni-machine tells
  const { tag = "" } = reference.exec(image)?.groups ?? {};
  const [, release] = /^v?(\d+\.\d+\.\d+)/.exec(tag) ?? [];
  const hasEnded = image.replace(/[@:].*$/, "") === installer.repository && minorOf(talosVersion) > installer.lastMinor;
  return [
    hasEnded && complaint(".installerImage", "installer-image/ended", { ...installer, talosVersion }),
    !reference.test(image) && complaint(".installerImage", "installer-image/reference", { image: shown(image) }),
    release !== undefined &&
      `v${release}` !== talosVersion.replace(/[-+].*$/, "") &&
      complaint(".installerImage", "installer-image/release", { release, talosVersion }),
    ofFactory
      .filter((name) => (Array.isArray(spec[name]) ? spec[name].length > 0 : spec[name] !== undefined))
      .map((name) => complaint(`.${name}`, "installer-image/beside")),
    spec.drop !== undefined && complaint(".drop", "installer-image/drop"),
  ];
}

const withoutPrefix = (name: string): string => name.replace(/^.*\//, "");

/** What a machine's image brings and what it shall lose, as lists of names. */
const lists = ["extensions", "kernelArgs"] as const;

/** What is wrong with an argument that is meant for one of NVIDIA's modules, or bars one that the machine loads. */
function ofModule(arg: string, where: string, machine?: CheckedMachine): Fault | undefined {
  const barred = /^module_blacklist=(.*)$/.exec(arg)?.[1]?.split(",") ?? [];
  const lost = machine?.recipe.kernelModules.find(({ name }) => barred.includes(name));
  if (lost) return fault("kernel-args/barred", { lost });
  const found = moduleParameterIn(arg);
  const key = arg.replaceAll('"', "").split("=")[0];
  if (found === undefined) return undefined;
  const without = fault("kernel-args/module", { key, machine: where, found });
  // A blank makes several arguments of it, of which the kernel may read one.
  return /\s/.test(arg) ? without : { ...without, dead: true };
}

function patchArgs({ patch, machines: [machine, ...others] }: ReachingPatch): Nested<Fault> {
  const said = valueAt(patch.config, "machine", "install", "extraKernelArgs");
  const where = machine && others.length === 0 ? machine.field : "machineDefaults";
  return listOf(said).map((arg) => ofModule(asText(arg), where, machine));
}

/** What is wrong with an argument of an image, whatever the release. */
function argFault(arg: string, machine: CheckedMachine): Fault | undefined {
  const withoutEffect = ofModule(arg, machine.field, machine);
  if (withoutEffect) return withoutEffect;
  if (/\s|^['"#&*!|>%@`=]|: |:$/.test(arg)) return fault("kernel-args/broken", { arg });
  return arg.startsWith("talos.platform=") ? fault("kernel-args/platform") : undefined;
}

function machineArgs(machine: CheckedMachine, { spec, release }: CheckContext): Found {
  const args = machine.spec.kernelArgs ?? [];
  const faults = args.flatMap((arg, index) => {
    const found = argFault(arg, machine);
    return found === undefined ? [] : [{ field: `.kernelArgs[${index}]`, ...found }];
  });
  const living = args.filter((arg) => moduleParameterIn(arg) === undefined);
  const isWrong = faults.some(({ dead }) => dead !== true);
  const takesEffect = !release || release.version.minor >= 10 || machine.spec.secureBoot === true;
  if (isWrong || living.length === 0 || takesEffect) return faults;
  return [...faults, complaint(".kernelArgs", "kernel-args/boot", { spec })];
}
