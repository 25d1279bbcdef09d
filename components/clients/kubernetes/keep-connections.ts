import { Agent } from "node:https";
import { isDeepStrictEqual } from "node:util";
import type { KubeConfig } from "@kubernetes/client-node";

/** Milliseconds after which an unused connection is given up: less than any machine takes to reboot, whatever it leaves open. */
const UNUSED = 5_000;

/**
 * Has the requests of a kubeconfig share connections. The client makes a new one for every request (@kubernetes/client-node 1.4,
 * `KubeConfig.applySecurityAuthentication`), and both sides exchange keys for it each time.
 *
 * @returns the same kubeconfig.
 */
export function keepConnections<Config extends KubeConfig>(config: Config): Config {
  const apply = config.applySecurityAuthentication.bind(config);
  let made: Agent["options"] | undefined;
  let kept: Agent | undefined;
  config.applySecurityAuthentication = async (context) => {
    await apply(context);
    const agent = context.getAgent();
    // A proxy's agent makes its connections itself.
    if (!(agent instanceof Agent) || agent.constructor !== Agent) return;
    // Another certificate, of a plugin that gives a new one now and then, is not used on the connections of the old.
    if (kept === undefined || !isDeepStrictEqual(agent.options, made)) {
      made = agent.options;
      kept = new Agent({ ...made, keepAlive: true, timeout: UNUSED });
    }
    context.setAgent(kept);
  };
  return config;
}
