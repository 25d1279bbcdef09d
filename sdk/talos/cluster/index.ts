import { registerModule } from "../utilities";
import { Kubeconfig } from "./kubeconfig";

export * from "./kubeconfig";

const none: any = undefined;
registerModule("cluster/kubeconfig", { [Kubeconfig.__pulumiType]: (name, urn) => new Kubeconfig(name, none, { urn }) });
