import type { Check } from "./check";
import { didYouMean } from "../stack/suggest";

/** Platforms of the Image Factory. Source: talos v1.14.0-rc.1, pkg/machinery/platforms/platforms.go. */
const platforms = [
  "metal",
  "aws",
  "gcp",
  "equinixMetal",
  "azure",
  "digital-ocean",
  "nocloud",
  "openstack",
  "vmware",
  "akamai",
  "cloudstack",
  "hcloud",
  "oracle",
  "upcloud",
  "vultr",
  "exoscale",
  "opennebula",
  "scaleway",
  "alibabacloud",
];

export const platform: Check = {
  id: "platform",
  source: "talos, pkg/machinery/platforms; image-factory, docs/api.md",
  find: ({ machines }) =>
    machines.flatMap((machine) => {
      const name = machine.spec.platform;
      if (name === undefined || platforms.includes(name)) return [];
      return [
        {
          field: `${machine.field}.platform`,
          problem: `"${name}" is not a platform of the Image Factory`,
          why: "there is no installer image of that name, and one of another platform would not find the machine's network and metadata",
          remedy: `${didYouMean(name, platforms)}one of ${platforms.join(", ")}`,
        },
      ];
    }),
};
