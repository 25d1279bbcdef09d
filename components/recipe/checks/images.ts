import { soundsLikeNvidia, unsuffixedNames } from "../facts/extension";
import { installer, multipath } from "../facts/data/since.json";
import { configuresMultipath, refusesMultipath } from "../facts/multipath";
import { extensionsOf, minorsWith } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { moduleParameterIn } from "../machine/kernel-args";
import { officialName } from "../machine/losses";
import { isSigned, volumesWithTpmKey } from "../machine/secure-boot";
import { asText, listOf, type Nested, placeOfRepeated, valueAt } from "../mapping";
import { nearestWord, didYouMean, type FindingText, type FieldFinding, shown } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  findPerMachine,
  findPerPatch,
  type ReachingPatch,
  combine,
} from "./check";

/** Checks of a machine's image: extensions, kernel arguments, module parameters. */
export const imageChecks = {
  "extension-name": {
    rule: "Each extension is an official extension of Talos, or factoryUrl names an Image Factory that may have further extensions",
    source:
      "siderolabs/extensions, Makefile; image-factory, internal/profile (unsuffixed names silently mean `-lts`)",
    ofFiles: true,
    find: findPerMachine((machine, { spec, release }) =>
      (machine.spec.extensions ?? []).flatMap((name, index) => {
        const field = `.extensions[${index}]`;
        const suffixedName = Object.hasOwn(unsuffixedNames, name)
          ? unsuffixedNames[name]
          : undefined;
        if (suffixedName) return withoutBranch(field, name, suffixedName);
        if (minorsWith(name).length > 0 || release?.extensions?.includes(name)) return [];
        const knownExtensions = release
          ? [...extensionsOf(release.minor.minor)].map(withoutPrefix)
          : [];
        const closestName = nearestWord(withoutPrefix(name), knownExtensions);
        // A user's own Factory may have further extensions. The update requests its installer image before any machine
        // reboots.
        if (spec.factoryUrl !== undefined && closestName === undefined && !soundsLikeNvidia(name))
          return [];
        return {
          field,
          problem: `there is no official extension ${shown(name)} in any Talos version`,
          why: "the Image Factory accepts any name, but fails when the machine pulls the image",
          ...anotherName(name, closestName),
        };
      }),
    ),
  },
  "extension-release": {
    rule: "Each extension of a machine exists for the machine's Talos version",
    source:
      "siderolabs/extensions, Makefile at each release; the Factory answers 400 when the image is pulled",
    ofFiles: true,
    find: findPerMachine((machine, { spec, release }) =>
      (machine.spec.extensions ?? []).flatMap((name, index) => {
        const minors = minorsWith(name);
        const [first, last = first] = [minors[0], minors.at(-1)];
        if (!release || first === undefined || last === undefined) return [];
        if (release.extensions?.includes(name) ?? minors.includes(release.minor.minor)) return [];
        const range =
          last < release.minor.minor ? `up to Talos 1.${last}` : `from Talos 1.${first} on`;
        return {
          field: `.extensions[${index}]`,
          problem: `${name} is not part of Talos ${spec.talosVersion}`,
          why: "the Image Factory would fail when the machine pulls its image during the upgrade",
          remedy: `use a Talos version with this extension (${range}), or leave the extension out (and list it under drop.extensions if the machine runs it now)`,
          ofFiles: {
            remedy: `use a Talos version with this extension (${range}), or leave the extension out`,
          },
        };
      }),
    ),
  },
  "extension-without-gpu": {
    rule: "Only machines with a GPU have NVIDIA's extensions",
    source:
      "talos#14373: ext-nvidia-persistenced waits for a driver that never comes, until the boot times out",
    ofFiles: false,
    find: findPerMachine(({ gpuCount, spec: { extensions = [] } }) =>
      extensions.map((name, index) =>
        gpuCount === 0 && soundsLikeNvidia(name)
          ? {
              field: `.extensions[${index}]`,
              problem: `${name} is for a machine with a GPU, and this machine has none`,
              why: "the extension's services wait forever for a card, so the machine reboots every 70 minutes and rolls back",
              remedy:
                "leave it out (and list it under drop.extensions if the machine runs it now), or list the machine's cards under `gpus`",
            }
          : undefined,
      ),
    ),
  },
  "image-lists": {
    rule: "No extension is listed twice, and no extension or kernel argument is both added and dropped",
    source:
      "fields of a stack about an image; a kernel argument may occur twice, as `console` does",
    ofFiles: true,
    find: findPerMachine(({ field, spec }) =>
      lists.flatMap((list): Found => {
        const name = list === "extensions" ? officialName : (text: string): string => text;
        const names = (spec[list] ?? []).map(name);
        const nameSet = new Set(names);
        const repeatedIndex = placeOfRepeated(names);
        const droppedIndex = (spec.drop?.[list] ?? []).findIndex((droppedName) =>
          nameSet.has(name(droppedName)),
        );
        const [repeatedItem, droppedItem] = [
          spec[list]?.[repeatedIndex],
          spec.drop?.[list]?.[droppedIndex],
        ];
        return [
          list !== "kernelArgs" && repeatedItem !== undefined
            ? {
                field: `.${list}[${repeatedIndex}]`,
                problem: `${shown(repeatedItem)} is listed twice`,
                why: "an image has each extension once, so one of the two entries is a mistake",
                remedy: "remove one of the two, or correct its name",
              }
            : undefined,
          droppedItem !== undefined
            ? {
                field: `.drop.${list}[${droppedIndex}]`,
                problem: `${shown(droppedItem)} is also listed under ${field}.${list}`,
                why: "the next image cannot both have it and lack it",
                remedy: "remove it from one of the two lists",
              }
            : undefined,
        ];
      }),
    ),
  },
  "kernel-args": {
    rule: "Each kernel argument is one word that takes effect, and none blocks NVIDIA's modules or sets the platform",
    source:
      "siderolabs/docs v1.10, boot loader: the schematic's arguments take effect with a UKI (Talos ≥ 1.10, or Secure Boot); siderolabs/extensions, nvidia.conf (blacklist); talos v1.13.9, internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go; linux v6.18, kernel/module/main.c (blacklisted)",
    ofFiles: true,
    find: combine(findPerMachine(machineArgs), findPerPatch(patchArgs)),
  },
  "module-parameters": {
    rule: "Each parameter in moduleParameters is well-formed, and belongs to a module that this package loads and that no patch lists",
    source:
      "talos v1.13.9, machine.kernel.modules[].parameters; pkg/machinery/config/types/v1alpha1: of two items with a name the last one's parameters win",
    ofFiles: true,
    find: findPerMachine((machine, { clusterPatches }) =>
      Object.entries(machine.spec.moduleParameters ?? {}).flatMap(([module, parameters]): Found => {
        const field = `.moduleParameters.${module}`;
        const loadedModules = machine.recipe.kernelModules.map(({ name }) => name);
        if (machine.gpuCount === 0 && /^nvidia(?:_|$)/.test(module))
          return {
            field,
            problem: `${module} is loaded only on machines with a card, and this machine has none`,
            why: "the parameters would have no effect",
            remedy: "remove the parameters, or list the machine's cards under `gpus`",
          };
        const loadedText =
          loadedModules.length === 0
            ? "this machine has no GPU"
            : `it loads ${loadedModules.join(", ")}`;
        if (!loadedModules.includes(module))
          return {
            field,
            problem: `the package does not load the module ${module} on this machine (${loadedText})`,
            why: "the parameters would have no effect",
            remedy: `${didYouMean(module, loadedModules)}load ${module} and set its parameters in a patch (machine.kernel.modules), or remove the parameters`,
          };
        const patchWithModule = [...clusterPatches, ...machine.patches].find(({ modules }) =>
          modules.some(({ name }) => name === module),
        );
        if (patchWithModule !== undefined)
          return {
            field,
            problem: `${patchWithModule.field} also declares ${module}`,
            why: "Talos uses one list of parameters per module, so the list of the patch would replace this one",
            remedy: "write the parameters in the patch, or remove the module from the patch",
          };
        const malformed = parameters.find(
          (text) => !/^[\w-]+(?:=(?:"[^"]*"|[^\s"])*)?$/.test(text),
        );
        return malformed === undefined
          ? []
          : {
              field,
              problem: `"${malformed}" is not one parameter`,
              why: "the kernel splits the parameters at spaces and ignores unknown ones, so the module would not get this value",
              remedy:
                "write one parameter per entry, as `name=value`, and put a value with spaces in double quotes",
            };
      }),
    ),
  },
  "installer-image": {
    rule: "installerImage names, by tag or digest, an image that exists for the machine's Talos version. No other field of the image is set together with installerImage",
    source:
      "talos, pkg/imager (the contents of an installer are fixed when it is built); distribution/reference (forms of an image's name)",
    ofFiles: true,
    find: findPerMachine(findingOfOwnImage),
  },
  "tpm-key": {
    rule: "Only a machine with a Secure Boot image has volumes with a key in the TPM",
    source:
      "talos v1.14.1, internal/pkg/secureboot/tpm2/seal.go and unseal.go (both read the image's PCR key), internal/pkg/uki/uki.go (only a signed image has it)",
    ofFiles: true,
    find: findPerPatch(({ patch, machines }) => {
      const [volume] = volumesWithTpmKey(patch.documents.map(valueOfDocument));
      const machine = machines.find(
        ({ spec, recipe }) =>
          spec.configuration !== "omni" &&
          isSigned(recipe.installerImage, !!recipe.ownImage) === false,
      );
      return volume !== undefined && machine !== undefined
        ? {
            problem: `encrypts the volume ${volume.name} with a key in the TPM, but the image of ${machine.name} is not signed for Secure Boot`,
            why: "Talos seals and opens such a key only with the PCR key that a signed image has, so the machine could not prepare the volume",
            remedy: `set ${machine.field}.${machine.spec.installerImage === undefined ? "secureBoot: true" : "installerImage to a signed image"}, or use a key of another kind (static, nodeID, kms)`,
          }
        : undefined;
    }),
  },
  multipath: {
    rule: "No patch has an ExtensionServiceConfig for multipathd on a Talos version where this document makes the service wait forever",
    source:
      "siderolabs/docs v1.15, upgrading-talos; siderolabs/talos v1.14.1, CHANGELOG.md, EtcFileConfig",
    ofFiles: true,
    find: findPerPatch(({ patch, machines }) => {
      const configuresService = patch.documents.map(valueOfDocument).some(configuresMultipath);
      const machine = machines.find(
        ({ spec, recipe }) =>
          refusesMultipath(recipe.talosVersion) &&
          (spec.installerImage !== undefined || recipe.extensions.includes(multipath.extension)),
      );
      return configuresService && machine !== undefined
        ? {
            problem: `has an ExtensionServiceConfig for ${multipath.service}, and ${machine.name} gets Talos ${machine.recipe.talosVersion} with the extension multipath-tools`,
            why: `from Talos 1.${multipath.since} on this document makes the service wait forever, and Talos reboots a machine whose services do not start`,
            remedy:
              "replace this document by an EtcFileConfig with the name multipath.conf (Talos ≥ 1.14)",
          }
        : undefined;
    }),
  },
} satisfies Checks;

/**
 * Finding for an NVIDIA extension without a branch in its name. The Image Factory reads the name as the `lts` branch,
 * but the user may want another branch.
 */
function withoutBranch(field: string, name: string, suffixed: string[]): FieldFinding {
  const problem = `${shown(name)} does not name a branch`;
  // image-factory, internal/profile/profile.go, ExtensionNameAlias; omni, extensions.go: both names are aliases of an
  // extension that was renamed since.
  if (/fabric-?manager$/.test(name))
    return {
      field,
      problem,
      why: "the Image Factory reads this name as nvidia-fabric-manager-lts, which no Talos version has, and fails when the machine pulls the image",
      remedy: `write ${suffixed.join(" or ")}, or leave it out, because the package adds the fabric manager for SXM boards of eight cards`,
      ofFiles: { remedy: `write ${suffixed.join(" or ")}` },
    };
  return {
    field,
    problem,
    why: "the Image Factory reads this name as the lts branch, which may not fit the other extensions of the driver",
    remedy: `write ${suffixed.join(" or ")}, or leave it out, because the package chooses NVIDIA's extensions by the card and driver.branch`,
    ofFiles: { remedy: `write ${suffixed.join(" or ")}` },
  };
}

/** Remedy for a name that no official extension has. */
function anotherName(
  name: string,
  closestName: string | undefined,
): Pick<FindingText, "remedy" | "ofFiles"> {
  const whereToFind = "the Image Factory lists them under /version/<release>/extensions/official";
  if (soundsLikeNvidia(name))
    return {
      remedy: `leave it out, because the package chooses NVIDIA's extensions by the card and driver.branch`,
      ofFiles: { remedy: `leave it out, or name an official extension (${whereToFind})` },
    };
  if (closestName !== undefined)
    return {
      remedy: `did you mean "siderolabs/${closestName}"? name an official extension (${whereToFind})`,
    };
  return {
    remedy: `name an official extension (${whereToFind}), or set factoryUrl or installerImage for an extension of your own`,
    ofFiles: {
      remedy: `name an official extension (${whereToFind}), or use your own Image Factory or installer image for an extension of your own`,
    },
  };
}

const minorOf = (talosVersion: string): number => parseTalosVersion(talosVersion)?.minor ?? 0;

/** Fields that have an effect only if the Image Factory makes the image. */
const ofFactory = [
  "extensions",
  "kernelArgs",
  "overlay",
  "customization",
  "platform",
  "secureBoot",
] as const;

/** Form of an image reference with a registry, and with a tag, a digest or both. */
const reference =
  /^[^/\s]+(?:\/[^/:@\s]+)+(?=[:@])(?::(?<tag>\w[\w.-]*))?(?:@sha256:[0-9a-f]{64})?$/;

function findingOfOwnImage({ spec, recipe: { talosVersion } }: CheckedMachine): Found {
  const image = spec.installerImage;
  if (image === undefined || spec.configuration === "omni") return undefined; // the check omni-machine reports it
  const { tag = "" } = reference.exec(image)?.groups ?? {};
  const [, release] = /^v?(\d+\.\d+\.\d+)/.exec(tag) ?? [];
  const hasEnded =
    image.replace(/[@:].*$/, "") === installer.repository &&
    minorOf(talosVersion) > installer.lastMinor;
  return [
    hasEnded
      ? {
          field: ".installerImage",
          problem: `is ${installer.repository}, which has no image for Talos newer than 1.${installer.lastMinor}`,
          why: `the machine could not pull an installer for Talos ${talosVersion}`,
          remedy:
            "leave `installerImage` out to get the Image Factory's installer with the stack's extensions, or name an installer of your own",
        }
      : undefined,
    !reference.test(image)
      ? {
          field: ".installerImage",
          problem: `${shown(image)} is not an image reference with a tag or a digest`,
          why: "Talos could not pull it, or would later pull a different image",
          remedy: "write it as `registry.example.com/talos/installer:v1.13.6`, or with `@sha256:…`",
        }
      : undefined,
    release !== undefined && `v${release}` !== talosVersion.replace(/[-+].*$/, "")
      ? {
          field: ".installerImage",
          problem: `has the tag of v${release}, but the machine should run Talos ${talosVersion}`,
          why: "the update would wait for a Talos version that this image does not install",
          remedy: `name an image of Talos ${talosVersion}, or set talosVersion to v${release}`,
        }
      : undefined,
    ofFactory
      .filter((name) =>
        Array.isArray(spec[name]) ? spec[name].length > 0 : spec[name] !== undefined,
      )
      .map((name) => ({
        field: `.${name}`,
        problem: "is set together with installerImage",
        why: "this field has an effect only on images that the Image Factory builds",
        remedy: "leave it out, and set it where you build the installer image",
      })),
    spec.drop !== undefined
      ? {
          field: ".drop",
          problem: "is set together with installerImage",
          why: "the package does not know the contents of this image, so `drop` has no effect",
          remedy: "leave it out",
        }
      : undefined,
  ];
}

const withoutPrefix = (name: string): string => name.replace(/^.*\//, "");

/** Fields that list names of a machine's extensions and kernel arguments. `drop` has the same fields. */
const lists = ["extensions", "kernelArgs"] as const;

/**
 * Finding about a kernel argument that is a parameter of one of NVIDIA's modules, or that keeps a module of the machine
 * from loading.
 */
function findingOfModule(
  arg: string,
  fieldPath: string,
  machine?: CheckedMachine,
): FindingText | undefined {
  const blockedModules = /^module_blacklist=(.*)$/.exec(arg)?.[1]?.split(",") ?? [];
  const blockedModule = machine?.recipe.kernelModules.find(({ name }) =>
    blockedModules.includes(name),
  );
  if (blockedModule)
    return {
      problem: `blocks the kernel module ${blockedModule.name}`,
      why: "the driver needs this module, so the machine would find no card",
      remedy:
        "remove the argument (and list it under drop.kernelArgs if the machine boots with it now)",
      ofFiles: { remedy: "remove the argument" },
    };
  const moduleParameter = moduleParameterIn(arg);
  const key = arg.replaceAll('"', "").split("=")[0]!;
  if (moduleParameter === undefined) return undefined;
  const noEffect: FindingText = {
    problem: `${key} has no effect as a kernel argument`,
    why: "Talos loads NVIDIA's modules with the parameters of the machine's configuration, and does not read these parameters from the kernel's command line",
    remedy: `write it to ${fieldPath}.moduleParameters: \`${moduleParameter.module}: ['${moduleParameter.parameter}']\``,
    ofFiles: {
      remedy: `write it to machine.kernel.modules[].parameters: \`${moduleParameter.module}: ['${moduleParameter.parameter}']\``,
    },
  };
  // A blank splits the text into several arguments, and the kernel may read one of them.
  return /\s/.test(arg) ? noEffect : { ...noEffect, severity: "warning" };
}

function patchArgs({
  patch,
  machines: [machine, ...otherMachines],
}: ReachingPatch): Nested<FindingText> {
  const extraArgs = valueAt(patch.config, "machine", "install", "extraKernelArgs");
  const fieldPath = machine && otherMachines.length === 0 ? machine.field : "machineDefaults";
  return listOf(extraArgs).map((arg) => findingOfModule(asText(arg), fieldPath, machine));
}

/** Finding about a kernel argument of an image. The finding does not depend on the Talos version. */
function argFault(arg: string, machine: CheckedMachine): FindingText | undefined {
  const withoutEffect = findingOfModule(arg, machine.field, machine);
  if (withoutEffect) return withoutEffect;
  if (/\s|^['"#&*!|>%@`=]|: |:$/.test(arg))
    return {
      problem: `"${arg}" is not one argument`,
      why: "this package splits a command line at spaces, even in quotes, so the machine may boot with other arguments",
      remedy: "write one argument per entry, without quotes and spaces",
      ofFiles: false,
    };
  return arg.startsWith("talos.platform=")
    ? {
        problem: "sets the platform",
        why: "the Image Factory also adds this argument, and the machine uses only one of the two",
        remedy: "set the machine's field `platform` instead",
        ofFiles: {
          remedy:
            "leave it out: the name of the installer image selects the platform, e.g. nocloud-installer",
        },
      }
    : undefined;
}

function machineArgs(machine: CheckedMachine, { spec, release }: CheckContext): Found {
  const args = machine.spec.kernelArgs ?? [];
  const faults = args.flatMap((arg, index) => {
    const argFinding = argFault(arg, machine);
    return argFinding === undefined ? [] : [{ field: `.kernelArgs[${index}]`, ...argFinding }];
  });
  const effectiveArgs = args.filter((arg) => moduleParameterIn(arg) === undefined);
  const isWrong = faults.some(({ severity }) => severity === undefined);
  const takesEffect = !release || release.version.minor >= 10 || machine.spec.secureBoot === true;
  if (isWrong || effectiveArgs.length === 0 || takesEffect) return faults;
  return [
    ...faults,
    {
      field: ".kernelArgs",
      problem: `is set on Talos ${spec.talosVersion} without Secure Boot`,
      why: "an image's kernel arguments take effect only if the machine boots a UKI (Talos ≥ 1.10, or Secure Boot)",
      remedy: "use Talos ≥ 1.10, or set machine.install.extraKernelArgs in a patch",
    },
  ];
}
