import { soundsLikeNvidia, unsuffixedNames } from "../facts/extension";
import { extensionsOf, minorsWith } from "../facts/talos-release";
import { moduleParameterIn } from "../machine/kernel-args";
import { officialName } from "../machine/losses";
import { asText, valueAt } from "../mapping";
import type { Nested } from "../nested";
import { type Fault, shown } from "../rules";
import { closest, didYouMean } from "../rules/suggest";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  ofMachines,
  ofPatches,
  type ReachingPatch,
  together,
} from "./check";

/** What a machine's image has: extensions, kernel arguments, module parameters. */
export const imageChecks: Checks = {
  /**
   * Extensions are called as Talos calls them. Source: siderolabs/extensions, Makefile; image-factory, internal/profile (unsuffixed names
   * stand for `-lts`, in silence).
   */
  "extension-name": ofMachines((machine, { spec, release }) =>
    (machine.spec.extensions ?? []).flatMap((name, index) => {
      const field = `.extensions[${index}]`;
      const suffixed = Object.hasOwn(unsuffixedNames, name) ? unsuffixedNames[name] : undefined;
      if (suffixed)
        return {
          field,
          problem: `${shown(name)} does not say which branch`,
          why: "the Image Factory takes it for the lts branch, which may not fit the rest of the driver",
          remedy: `write ${suffixed.join(" or ")}, or leave it out: NVIDIA's extensions follow from the card and driver.branch`,
        };
      if (minorsWith(name).length > 0 || release?.extensions?.includes(name)) return [];
      const known = release ? [...extensionsOf(release.minor.minor)].map(withoutPrefix) : [];
      const meant = closest(withoutPrefix(name), known);
      // A Factory of one's own may list others. Its installer is asked for before any machine reboots.
      if (spec.factoryUrl !== undefined && meant === undefined && !soundsLikeNvidia(name)) return [];
      const advice = soundsLikeNvidia(name)
        ? "leave it out: NVIDIA's extensions follow from the card and driver.branch;"
        : meant === undefined
          ? "one of your own needs an Image Factory of your own that lists it (factoryUrl), or an installer image that has it (installerImage);"
          : `did you mean "siderolabs/${meant}"?`;
      return {
        field,
        problem: `there is no official extension ${shown(name)} in any Talos release`,
        why: "the Image Factory takes any name, and fails when the machine pulls the image",
        remedy: `${advice} the Factory lists all under /version/<release>/extensions/official`,
      };
    }),
  ),
  /**
   * Extensions are there in the machine's Talos release. Source: siderolabs/extensions, Makefile at each release; the Factory answers 400
   * when the image is pulled.
   */
  "extension-release": ofMachines((machine, { spec, release }) =>
    (machine.spec.extensions ?? []).flatMap((name, index) => {
      const minors = minorsWith(name);
      if (!release || minors.length === 0) return [];
      if (release.extensions?.includes(name) ?? minors.includes(release.minor.minor)) return [];
      const last = minors.at(-1) ?? 0;
      const range = last < release.minor.minor ? `up to Talos 1.${last}` : `from Talos 1.${minors[0]} on`;
      return {
        field: `.extensions[${index}]`,
        problem: `${name} is not part of Talos ${spec.talosVersion}`,
        why: "the machine could not pull its image, in the middle of the upgrade",
        remedy: `leave it out, or take another release: it is there ${range}`,
      };
    }),
  ),
  /**
   * NVIDIA's extensions are on machines with a GPU only. Source: talos#14373: ext-nvidia-persistenced waits for a driver that never
   * comes, until the boot times out.
   */
  "extension-without-gpu": ofMachines(({ gpuCount, spec: { extensions = [] } }) =>
    extensions.map(
      (name, index) =>
        gpuCount === 0 &&
        soundsLikeNvidia(name) && {
          field: `.extensions[${index}]`,
          problem: `${name} on a machine without a GPU`,
          why: "its services wait for a card for ever: the machine reboots every 70 minutes and rolls back",
          remedy: "leave it out, or name the machine's cards under gpus",
        },
    ),
  ),
  /**
   * A list of what an image brings has each name once, and brings nothing that it drops. Source: what the stack says of one image; an
   * argument of the kernel may stand twice, as `console` does.
   */
  "image-lists": ofMachines(({ field, spec }) =>
    lists.flatMap((list): Found => {
      const name = list === "extensions" ? officialName : (text: string): string => text;
      const brought = (spec[list] ?? []).map(name);
      const twice = brought.findIndex((each, index) => brought.indexOf(each) < index);
      const dropped = (spec.drop?.[list] ?? []).findIndex((each) => brought.includes(name(each)));
      return [
        list !== "kernelArgs" &&
          twice >= 0 && {
            field: `.${list}[${twice}]`,
            problem: `${shown(spec[list]![twice]!)} is listed twice`,
            why: "an image has each extension once, so one of the two entries is a mistake, or should name another extension",
            remedy: "take one of the two out",
          },
        dropped >= 0 && {
          field: `.drop.${list}[${dropped}]`,
          problem: `${shown(spec.drop![list]![dropped]!)} stands under ${field}.${list} too`,
          why: "the image cannot bring it and lose it",
          remedy: "take it out of one of the two lists",
        },
      ];
    }),
  ),
  /**
   * Kernel arguments are single words, and take effect on this Talos release. Source: siderolabs/docs v1.10, boot loader: the schematic's
   * arguments take effect with a UKI (Talos ≥ 1.10, or Secure Boot); siderolabs/extensions, nvidia.conf (blacklist); talos v1.13.9,
   * internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go.
   */
  "kernel-args": together(ofMachines(machineArgs), ofPatches(patchArgs)),
  /**
   * Parameters are those of modules that this package declares. Source: talos v1.13.9, machine.kernel.modules[].parameters;
   * pkg/machinery/config/types/v1alpha1: of two items with a name the last one's parameters win.
   */
  "module-parameters": ofMachines((machine, { clusterPatches }) =>
    Object.entries(machine.spec.moduleParameters ?? {}).flatMap(([module, parameters]): Found => {
      const field = `.moduleParameters.${module}`;
      const ours = machine.recipe.kernelModules.map(({ name }) => name);
      if (!ours.includes(module)) {
        const known = ours.length === 0 ? "this machine has no GPU" : `it loads ${ours.join(", ")}`;
        return {
          field,
          problem: `${module} is not a module that this package loads (${known})`,
          why: "the parameters would be of no module",
          remedy: `${didYouMean(module, ours)}write another module with its parameters under machine.kernel.modules in a patch`,
        };
      }
      const rival = [...clusterPatches, ...machine.patches].find(({ modules }) =>
        modules.some(({ name }) => name === module),
      );
      if (rival !== undefined)
        return {
          field,
          problem: `${rival.field} declares ${module}, too`,
          why: "a module is declared once, with one list of parameters, and the patch's would stay",
          remedy: "write the parameters in the patch, or take the module out of it",
        };
      const odd = parameters.find((text) => !/^[\w-]+(?:=(?:"[^"]*"|[^\s"])*)?$/.test(text));
      return odd === undefined
        ? []
        : {
            field,
            problem: `"${odd}" is not one parameter`,
            why: "the kernel takes parameters apart at blanks, and refuses the module for one that it does not know",
            remedy: "write one per entry, as `name=value`; a value with blanks in double quotes",
          };
    }),
  ),
  /**
   * An installer image of the user's own stands alone, and is of the release that the machine shall run. Source: talos, pkg/imager (what
   * an installer holds is put in when it is made); distribution/reference (forms of an image's name).
   */
  "installer-image": ofMachines(ofOwnImage),
};

/** Fields of what only the Image Factory would put into an image, or into its name. */
const ofFactory = ["extensions", "kernelArgs", "overlay", "customization", "platform", "secureBoot"] as const;

/** A reference with its registry, and a tag, a digest or both. */
const reference = /^[^/\s]+(?:\/[^/:@\s]+)+(?=[:@])(?::(?<tag>\w[\w.-]*))?(?:@sha256:[0-9a-f]{64})?$/;

function ofOwnImage({ spec, recipe: { talosVersion } }: CheckedMachine): Found {
  const image = spec.installerImage;
  if (image === undefined || spec.configuration === "omni") return undefined; // omni-machine tells
  const { tag = "" } = reference.exec(image)?.groups ?? {};
  const [, release] = /^v?(\d+\.\d+\.\d+)/.exec(tag) ?? [];
  return [
    !reference.test(image) && {
      field: ".installerImage",
      problem: `${shown(image)} is not a reference of an image by tag or digest`,
      why: "Talos could not pull it, or would pull another one later",
      remedy: "write it as `registry.example.com/talos/installer:v1.13.6`, or with `@sha256:…`",
    },
    release !== undefined &&
      `v${release}` !== talosVersion.replace(/[-+].*$/, "") && {
        field: ".installerImage",
        problem: `is of v${release} by its tag, and the machine shall run Talos ${talosVersion}`,
        why: "the update would wait for a release that the image does not bring",
        remedy: "name the image of that release, or the release of that image",
      },
    ofFactory
      .filter((name) => (Array.isArray(spec[name]) ? spec[name].length > 0 : spec[name] !== undefined))
      .map((name) => ({
        field: `.${name}`,
        problem: "is set beside installerImage",
        why: "only the Image Factory would put it into the image, and this image is made already",
        remedy: "leave it out, and put it into the image when it is made",
      })),
    spec.drop !== undefined && {
      field: ".drop",
      problem: "is set beside installerImage",
      why: "what such an image lacks of the machine's current one is not known, so nothing is compared, and nothing allowed by it",
      remedy: "leave it out",
    },
  ];
}

const withoutPrefix = (name: string): string => name.replace(/^.*\//, "");

/** What a machine's image brings and what it shall lose, as lists of names. */
const lists = ["extensions", "kernelArgs"] as const;

/** What is wrong with an argument that is meant for one of NVIDIA's modules. */
function ofModule(arg: string, machine: string): Fault | undefined {
  const found = moduleParameterIn(arg);
  return (
    found && {
      problem: `${arg.replaceAll('"', "").split("=")[0]} has no effect as a kernel argument`,
      why: "Talos loads NVIDIA's modules with the parameters of the machine's configuration, and does not read the kernel's command line for them",
      remedy: `write it to ${machine}.moduleParameters: \`${found.module}: ['${found.parameter}']\``,
    }
  );
}

function patchArgs({ patch, machines: [machine, ...others] }: ReachingPatch): Nested<Fault> {
  const said = valueAt(patch.config, "machine", "install", "extraKernelArgs");
  const where = machine && others.length === 0 ? machine.field : "machineDefaults";
  return Array.isArray(said) ? said.map((arg) => ofModule(asText(arg), where)) : [];
}

/** What is wrong with an argument of an image, whatever the release. */
function argFault(arg: string, machine: string): Fault | undefined {
  const withoutEffect = ofModule(arg, machine);
  if (withoutEffect) return withoutEffect;
  if (/\s|^['"#&*!|>%@`=]|: |:$/.test(arg))
    return {
      problem: `"${arg}" is not one argument`,
      why: "this package takes a command line apart at spaces, quoted or not, and the image may start with another argument",
      remedy: "write one argument per entry, without quotes and spaces",
    };
  if (!arg.startsWith("talos.platform=")) return undefined;
  return {
    problem: "names the platform",
    why: "the Image Factory itself adds this argument to the image; with two of them, the machine uses only one",
    remedy: "write it to the machine's platform",
  };
}

function machineArgs(machine: CheckedMachine, { spec, release }: CheckContext): Found {
  const args = machine.spec.kernelArgs ?? [];
  const faults = args.flatMap((arg, index) => {
    const fault = argFault(arg, machine.field);
    return fault === undefined ? [] : [{ field: `.kernelArgs[${index}]`, ...fault }];
  });
  if (faults.length > 0 || args.length === 0 || !release || release.version.minor >= 10 || machine.spec.secureBoot)
    return faults;
  return {
    field: ".kernelArgs",
    problem: `is set, on Talos ${spec.talosVersion} without Secure Boot`,
    why: "an image's kernel arguments take effect only if the machine boots a UKI (Talos ≥ 1.10, or Secure Boot)",
    remedy: "take Talos ≥ 1.10, or set machine.install.extraKernelArgs in a patch",
  };
}
