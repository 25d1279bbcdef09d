/** A schematic that the Image Factory accepts, with its ID, a hash of its text. */
interface AcceptedSchematic {
  schematic: string;
  id: string;
}

/** A schematic that the Image Factory refuses with status 400, and the message. */
interface RefusedSchematic {
  schematic: string;
  message: string;
}

const plainId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
const unknownId = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const unknownExtensionId = "123ba93d2f931c07628f7e66d18756073af699e1ba2366d5d597693a2fac3a82";
const formerFabricManagerId = "405d4446f6b403479ef369bc796eff315bea94dc88d9d0d04e37bc8ad32b9694";

// Answers of the Image Factory v1.2.0. lab/tests/real-talos/factory.test.ts compares them with the real Factory, and
// factory.test.ts with the emulated one.

export const acceptedSchematics: AcceptedSchematic[] = [
  { schematic: "{}", id: plainId },
  { schematic: "customization: {}", id: plainId },
  { schematic: "customization:\n", id: plainId },
  { schematic: 'customization: {"extraKernelArgs": []}', id: plainId },
  { schematic: "customization:\n  systemExtensions: {}\n", id: plainId },
  {
    schematic:
      '{"customization": {"systemExtensions": {}, "extraKernelArgs": ["noapic", "nolapic"]}}',
    id: "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c",
  },
  {
    schematic:
      '{"customization": {"extraKernelArgs": ["1", "yes", "a: b", "console=ttyS0", "-foo", 7, "", "#no", "x #no", "~", "0x1f", "a\'b", "two\\nlines"]}}',
    id: "b2f3c2105ab3b9ea708bc5ec718bcde4c190094196bf53aed594809eaf1c3e16",
  },
  {
    schematic: '{"customization": {"meta": [{"key": 10, "value": "foo"}], "extraKernelArgs": []}}',
    id: "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f",
  },
  {
    schematic:
      '{"overlay": {"name": "rpi_generic", "image": "siderolabs/sbc-raspberrypi", "options": {"b": "x", "a": 1}}}',
    id: "021e0d1618bbe283d6845863879c3e175c88319f812aa7d5ffbb7d2168223ab6",
  },
  {
    schematic: "customization: {secureboot: {includeWellKnownCertificates: true}}",
    id: "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
  },
  {
    schematic: "customization: {bootloader: sd-boot}",
    id: "9ed5fecdacb36b5c5427b87d409f1065cfb2df69b0f71c58b868d9d466d8dab3",
  },
  // The Factory keeps the given order of extensions, and does not check their names yet.
  {
    schematic:
      "customization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-open-gpu-kernel-modules-production, siderolabs/nvidia-container-toolkit-production]}}",
    id: "1deaeeb1ea2e7901c21c109368a7261f52dfd9a91e9d7eea83cfd0f0e1b7d488",
  },
  {
    schematic:
      "customization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-container-toolkit-production, siderolabs/nvidia-open-gpu-kernel-modules-production]}}",
    id: "6698d6f136c5bb37ca8bb8482c9084305084da0a5ead1f4dcae760796f8ab3a2",
  },
  {
    schematic:
      "customization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-container-toolkit, siderolabs/nonfree-kmod-nvidia]}}",
    id: "b1098363304e029b232b29d08600aca1bfd42941a1d9a06f44748bb13549b106",
  },
  {
    schematic:
      "customization: {systemExtensions: {officialExtensions: [siderolabs/no-such-extension]}}",
    id: unknownExtensionId,
  },
  {
    schematic:
      "customization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-fabricmanager]}}",
    id: formerFabricManagerId,
  },
];

/** Schematics that are refused. Every parser has its own message about invalid YAML. */
export const refusedSchematics: RefusedSchematic[] = [
  { schematic: "", message: "EOF" },
  {
    schematic: "customization: {extraKernelArg: [a]}",
    message: "line 1: field extraKernelArg not found in type schematic.Customization",
  },
  {
    schematic: "custom: {}",
    message: "line 1: field custom not found in type schematic.Schematic",
  },
  {
    schematic: "customization: {extraKernelArgs: a}",
    message: `line 1: cannot construct !!str \`a\` into []string`,
  },
  {
    schematic: "customization: {extraKernelArgs: [[a]]}",
    message: "line 1: cannot construct !!seq into string",
  },
  {
    schematic: "customization: {meta: [{key: 256, value: a}]}",
    message: `line 1: cannot construct !!int \`256\` into uint8`,
  },
  {
    schematic:
      "customization:\n  secureboot:\n    includeWellKnownCertificates: perhaps, perhaps not\n",
    message: `line 3: cannot construct !!str \`perhaps...\` into bool`,
  },
  {
    schematic: "customization: {bootloader: lilo}",
    message: "line 1: lilo does not belong to BootloaderKind values",
  },
  { schematic: "[]", message: "line 1: cannot construct !!seq into schematic.Schematic" },
  {
    schematic: "text",
    message: `line 1: cannot construct !!str \`text\` into schematic.Schematic`,
  },
  {
    schematic: "customization:\n  extraKernelArgs: {}\n  meta: []\n  other: 1\nmore: 2\n",
    message:
      "line 2: cannot construct !!map into []string\n  line 4: field other not found in type schematic.Customization\n  line 5: field more not found in type schematic.Schematic",
  },
];

const notAllowed = "405 text/plain; charset=utf-8 Method Not Allowed";
const notFound = "404 text/plain; charset=utf-8 schematic not found";
const noVersion = "404 text/plain; charset=utf-8 version 1.99.0 is not available";
const internalError = "500 text/plain; charset=utf-8 internal server error";
const empty = "200  ";
const noSchematic = `404 text/plain; charset=utf-8 schematic ID "${unknownId}" not found`;

/**
 * All other requests, each with the status, the content type and the text of the answer.
 *
 * @param release a release that the Factory has
 */
export const otherAnswers = (release: string): [request: string, answer: string][] => [
  ["GET /versions", `200 text/plain; charset=utf-8 ["${release}"]`],
  ["HEAD /versions", "405 text/plain; charset=utf-8 "],
  ["POST /versions", notAllowed],
  ["GET /schematics", notAllowed],
  ["PUT /schematics", notAllowed],
  [`GET /schematics/${plainId}`, "200 application/yaml customization: {}"],
  [`DELETE /schematics/${plainId}`, notAllowed],
  [`GET /schematics/${unknownId}`, notFound],
  ["GET /schematics/short", notFound],
  ["GET /version/v1.99.0/extensions/official", noVersion],
  ["GET /version/1.99.0/extensions/official", noVersion],
  ["GET /version/v1.13/extensions/official", internalError],
  ["GET /version/newest/extensions/official", internalError],
  ["GET /v2", empty],
  ["GET /v2/", empty],
  ["GET /no/such/path", "404 text/plain; charset=utf-8 404 page not found"],
  [`GET /v2/metal-installer/${unknownId}/manifests/${release}`, noSchematic],
  [`GET /v2/metal-image/${unknownId}/manifests/${release}`, noSchematic],
  [`HEAD /v2/metal-installer/${unknownId}/manifests/${release}`, "404 text/plain; charset=utf-8 "],
  [
    `GET /v2/metal-image/${plainId}/manifests/${release}`,
    "400 text/plain; charset=utf-8 invalid image: metal-image",
  ],
  [
    `GET /v2/metal-installer/${plainId}/manifests/v1.99.0`,
    "404 text/plain; charset=utf-8 error enhancing profile from schematic: failed to get base installer: version 1.99.0 is not available",
  ],
  [`GET /v2/metal-installer/${plainId}/manifests/vnewest`, internalError],
  [`PUT /v2/metal-installer/${plainId}/manifests/${release}`, notAllowed],
  [
    `HEAD /v2/metal-installer/${plainId}/manifests/${release}`,
    "200 application/vnd.oci.image.index.v1+json ",
  ],
  [
    `GET /v2/metal-installer/${unknownExtensionId}/manifests/${release}`,
    `400 text/plain; charset=utf-8 error enhancing profile from schematic: official extension "siderolabs/no-such-extension" is not available for Talos version ${release}`,
  ],
  // The Factory renames this extension to a name that no extension has.
  [
    `GET /v2/metal-installer/${formerFabricManagerId}/manifests/${release}`,
    `400 text/plain; charset=utf-8 error enhancing profile from schematic: official extension "siderolabs/nvidia-fabricmanager" is not available for Talos version ${release}`,
  ],
];
