import * as https from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { keepConnections } from "../../../components/clients/kubernetes/keep-connections";

/** What the client asks of a kubeconfig for every request: an agent, made again each time. */
function requests(agent: () => https.Agent): () => Promise<https.Agent> {
  const applySecurityAuthentication = async (context: { setAgent(agent: https.Agent): void }): Promise<void> =>
    context.setAgent(agent());
  const config = keepConnections({ applySecurityAuthentication } as unknown as KubeConfig);
  return async () => {
    let agent: https.Agent | undefined;
    const context = { setAgent: (given: https.Agent) => (agent = given), getAgent: () => agent };
    await config.applySecurityAuthentication(context as never);
    return agent!;
  };
}

test("requests of one kubeconfig share connections, which are given up when they are not used", async () => {
  const request = requests(() => new https.Agent({ cert: "one" }));
  const first = await request();
  expect(await request()).toBe(first);
  expect(first.options).toMatchObject({ cert: "one", keepAlive: true, timeout: 5_000 });
});

test("a plugin's next certificate has connections of its own", async () => {
  const certificates = ["one", "two", "two"];
  const request = requests(() => new https.Agent({ cert: certificates.shift()! }));
  const first = await request();
  const second = await request();
  expect(second).not.toBe(first);
  expect(second.options).toMatchObject({ cert: "two" });
  expect(await request()).toBe(second);
});

test("a proxy's agent stays the proxy's", async () => {
  class Proxy extends https.Agent {}
  const proxy = new Proxy();
  expect(await requests(() => proxy)()).toBe(proxy);
});
