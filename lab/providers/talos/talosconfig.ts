import { parse, stringify } from "yaml";
import type { Properties } from "../provider";

/** A client certificate of the machine API, each part base64 of its PEM. */
export interface ClientConfiguration {
  caCertificate: string;
  clientCertificate: string;
  clientKey: string;
}

/** Where talosctl connects to, and which machines it means. */
export interface Targets {
  endpoints?: readonly string[] | undefined;
  nodes?: readonly string[] | undefined;
}

/** A talosconfig with one context. Source: siderolabs/talos, pkg/machinery/client/config. */
export function writeTalosconfig(
  context: string,
  client: ClientConfiguration,
  { endpoints, nodes }: Targets = {},
): string {
  return stringify(
    {
      context,
      contexts: {
        [context]: {
          endpoints: endpoints ?? [],
          ...(nodes?.length ? { nodes } : {}),
          ca: client.caCertificate,
          crt: client.clientCertificate,
          key: client.clientKey,
        },
      },
    },
    { indent: 4, lineWidth: 0 },
  );
}

/** The certificate in a talosconfig's current context. */
export function readTalosconfig(talosconfig: string): ClientConfiguration {
  const { context, contexts } = parse(talosconfig) as {
    context: string;
    contexts: Record<string, Record<string, string>>;
  };
  const { ca = "", crt = "", key = "" } = contexts[context] ?? {};
  return { caCertificate: ca, clientCertificate: crt, clientKey: key };
}

/** The certificate that a resource is to use. */
export function clientOf(inputs: Properties): ClientConfiguration {
  const client = inputs["clientConfiguration"];
  if (!client) throw new Error("clientConfiguration: missing; it is the client certificate of the machine API");
  return client as ClientConfiguration;
}
