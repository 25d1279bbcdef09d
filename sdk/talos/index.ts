import * as pulumi from "@pulumi/pulumi";
import { Provider } from "./provider";
import { version } from "./utilities";

export * from "./provider";
export * as cluster from "./cluster";
export * as imagefactory from "./imagefactory";
export * as machine from "./machine";
export * as types from "./types";

pulumi.runtime.registerResourcePackage("talos", {
  version,
  constructProvider: (name, type, urn) => {
    if (type !== "pulumi:providers:talos") {
      throw new Error(`unknown provider type ${type}`);
    }
    return new Provider(name, undefined, { urn });
  },
});
