import { registerModule } from "../utilities";
import { Bootstrap } from "./bootstrap";
import { ConfigurationApply } from "./configurationApply";
import { Secrets } from "./secrets";

export * from "./bootstrap";
export * from "./configurationApply";
export * from "./getConfiguration";
export * from "./secrets";

const none: any = undefined;
registerModule("machine/bootstrap", { [Bootstrap.__pulumiType]: (name, urn) => new Bootstrap(name, none, { urn }) });
registerModule("machine/configurationApply", {
  [ConfigurationApply.__pulumiType]: (name, urn) => new ConfigurationApply(name, none, { urn }),
});
registerModule("machine/secrets", { [Secrets.__pulumiType]: (name, urn) => new Secrets(name, none, { urn }) });
