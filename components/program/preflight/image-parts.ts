/** Parts of an image's name. */
export interface ImageParts {
  host: string;
  name: string;
  tag: string;
}

/** Host, name and tag of an image, e.g. of `factory.talos.dev/metal-installer/<id>:v1.13.9`; undefined if its name lacks one of them. */
export function imageParts(image: string): ImageParts | undefined {
  const [, host, name, tag] = /^([^/]+)\/(.+):([^:/]+)$/.exec(image) ?? [];
  return host && name && tag ? { host, name, tag } : undefined;
}

/** Whether an image's name ends with the ID of a schematic, as the names of an Image Factory's installers do. */
export const namesSchematic = (name: string): boolean => /\/[0-9a-f]{64}$/.test(name);
