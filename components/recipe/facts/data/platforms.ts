/** Platforms of the Image Factory. Source: talos v1.14.0-rc.1, pkg/machinery/platforms/platforms.go. */
export const platforms = [
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

/** Talos minor at which they were last read. */
export const platformsReadTo = 14;
