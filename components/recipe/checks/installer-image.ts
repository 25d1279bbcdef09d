import { shown } from "../rules";
import type { Check, CheckedMachine, Complaint } from "./check";

/** What only the Image Factory would put into an image, or into its name. */
const ofFactory = ["extensions", "kernelArgs", "overlay", "platform", "secureBoot"] as const;

/** A reference with its registry, and a tag or a digest. */
const reference = /^[^/\s]+(?:\/[^/:@\s]+)+(?::(?<tag>[\w][\w.-]*))?(?:@sha256:[0-9a-f]{64})?$/;

/** An installer image of the user's own stands alone, and is of the release that the machine shall run. */
export const installerImageCheck: Check = {
  id: "installer-image",
  source:
    "talos, pkg/imager (what an installer holds is put in when it is made); distribution/reference (forms of an image's name)",
  find: ({ machines }) => machines.flatMap((machine) => complaintsOf(machine)),
};

function complaintsOf({ field, spec, recipe }: CheckedMachine): Complaint[] {
  const image = spec.installerImage;
  if (image === undefined) return [];
  const said = (problem: string, why: string, remedy: string): Complaint => ({
    ...{ field: `${field}.installerImage`, problem, why, remedy },
  });
  const { tag } = reference.exec(image)?.groups ?? {};
  const release = /^v?\d+\.\d+\.\d+/.exec(tag ?? "")?.[0].replace(/^v?/, "v");
  return [
    ...(spec.configuration === "omni"
      ? [said("is set, but Omni makes the machine's image", "it would have no effect", "leave it out")]
      : []),
    ...(tag === undefined && !(reference.test(image) && image.includes("@"))
      ? [
          said(
            `${shown(image)} is not a reference of an image by tag or digest`,
            "Talos could not pull it, or would pull another one later",
            "write it as `registry.example.com/talos/installer:v1.13.6`, or with `@sha256:…`",
          ),
        ]
      : []),
    ...(release !== undefined && recipe.talosVersion.replace(/[-+].*$/, "") !== release
      ? [
          said(
            `is of ${release} by its tag, and the machine shall run Talos ${recipe.talosVersion}`,
            "the update would wait for a release that the image does not bring",
            "name the image of that release, or the release of that image",
          ),
        ]
      : []),
    ...ofFactory
      .filter((name) => (Array.isArray(spec[name]) ? spec[name].length > 0 : spec[name] !== undefined))
      .map((name) => ({
        field: `${field}.${name}`,
        problem: "is set beside installerImage",
        why: "only the Image Factory would put it into the image, and this image is made already",
        remedy: "leave it out, and put it into the image when it is made",
      })),
  ];
}
