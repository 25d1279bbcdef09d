import type { Shape } from "./object-shapes";

const replicas: Shape = {
  fields: {
    renameByDefault: "true or false",
    failRequestsGreaterThanOne: "true or false",
    resources: {
      list: { open: true, fields: { name: "text", rename: "text", devices: "anything", replicas: "anything" } },
    },
  },
  open: true,
};

/** A configuration of the device plugin, which drops in silence what it does not know. Source: k8s-device-plugin v0.19.3, api/config/v1. */
export const pluginConfiguration: Shape = {
  open: true,
  fields: {
    version: "anything",
    flags: {
      open: true,
      fields: {
        migStrategy: "anything",
        failOnInitError: "true or false",
        mpsRoot: "text",
        nvidiaDriverRoot: "text",
        nvidiaDevRoot: "text",
        gdrcopyEnabled: "true or false",
        gdsEnabled: "true or false",
        mofedEnabled: "true or false",
        useNodeFeatureAPI: "true or false",
        deviceDiscoveryStrategy: { words: ["auto", "nvml", "tegra", "vfio"] },
        plugin: {
          open: true,
          fields: {
            passDeviceSpecs: "true or false",
            deviceListStrategy: "anything",
            deviceIDStrategy: { words: ["uuid", "index"] },
            cdiAnnotationPrefix: "text",
            nvidiaCTKPath: "text",
            containerDriverRoot: "text",
          },
        },
        gfd: {
          open: true,
          fields: {
            oneshot: "true or false",
            noTimestamp: "true or false",
            sleepInterval: "anything",
            outputFile: "text",
            machineTypeFile: "text",
          },
        },
      },
    },
    resources: "anything",
    sharing: { open: true, fields: { timeSlicing: replicas, mps: replicas } },
    imex: { open: true, fields: { channelIDs: { list: "a number" }, required: "true or false" } },
  },
};
