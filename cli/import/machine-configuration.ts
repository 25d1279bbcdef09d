import * as path from "node:path";
import { stringify } from "yaml";
import {
  anyText,
  asText,
  defined,
  isMapping,
  listAt,
  listOf,
  valueAt,
} from "../../components/recipe/mapping";
import { mappingsIn } from "./patch";
import type { TalconfigNode } from "./talconfig";

/** A machine with the facts from its configuration. */
export interface ReadMachine {
  node: TalconfigNode;
  talosVersion?: string;
  /** Whether the node is named after its file, because the configuration has no host name. */
  namedAfterFile: boolean;
}

/**
 * Machines of a file. The file is a machine configuration with several documents, as talm and topf render it, or the
 * output of `talosctl get machineconfig -o yaml` for one or more machines.
 *
 * @returns an empty list if the file is of another kind.
 */
export function machinesOf(text: string, file: string): ReadMachine[] {
  const values = mappingsIn(text);
  const resources = values.filter(
    ({ metadata }) =>
      isMapping(metadata) && anyText(metadata["type"]).toLowerCase().startsWith("machineconfigs."),
  );
  if (resources.length === 0)
    return isConfiguration(values) ? [machineOf(values, text, file, talmAddress(text))] : [];
  // A machine has two resources: the running configuration and the stored one.
  const running = resources.filter(
    ({ metadata }) => (metadata as { id?: unknown }).id === "v1alpha1",
  );
  return (running.length > 0 ? running : resources).flatMap(({ node, spec }) => {
    const inner = typeof spec === "string" ? spec : stringify(spec);
    const documents = mappingsIn(inner);
    return isConfiguration(documents) ? [machineOf(documents, inner, file, asText(node))] : [];
  });
}

const isConfiguration = (values: Record<string, unknown>[]): boolean =>
  values.some(
    ({ machine, kind }) =>
      kind === undefined && isMapping(machine) && typeof machine["type"] === "string",
  );

/**
 * The first address that talm wrote into a machine's file; empty if there is none. talm writes addresses into the
 * file's first line (talm, pkg/modeline).
 */
const talmAddress = (text: string): string =>
  /^# talm:.*\bnodes=\["([^"]+)"/m.exec(text)?.[1] ?? "";

function machineOf(
  values: Record<string, unknown>[],
  text: string,
  file: string,
  address: string,
): ReadMachine {
  const { machine } = values.find(({ kind }) => kind === undefined) as {
    machine: Record<string, unknown>;
  };
  const named =
    valueAt(machine, "network", "hostname") ??
    values.find(({ kind }) => kind === "HostnameConfig")?.["hostname"];
  const whole = asText(valueAt(machine, "install", "image"));
  const { image, release } = installerIn(whole);
  return {
    node: {
      hostname: typeof named === "string" ? named : path.basename(file).replace(/\..*$/, ""),
      ipAddress: address || ownAddress(machine, values),
      controlPlane: machine["type"] !== "worker",
      // Only the name of a custom image is known. The name of a Factory image contains its schematic.
      ...defined({ talosImageURL: image && (/\/[0-9a-f]{64}$/.test(image) ? image : whole) }),
      patches: [text],
    },
    ...defined({ talosVersion: release }),
    namedAfterFile: typeof named !== "string",
  };
}

/**
 * An installer without its tag, and its Talos release. The tag of a custom image may have more text after the release.
 */
export const installerIn = (reference: string): { image?: string; release?: string } =>
  /^(?<image>.+?)(?::(?<release>v?\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)[^:/@]*)?(?:@.*)?$/.exec(
    reference,
  )?.groups ?? {};

/** First static address of a machine, from its interfaces or its LinkConfig documents. */
function ownAddress(machine: Record<string, unknown>, values: Record<string, unknown>[]): string {
  const links = [...listAt(machine, "network", "interfaces"), ...values];
  const addresses = links.flatMap((link) => listOf(link["addresses"]));
  const texts = addresses.map((address) => (isMapping(address) ? address["address"] : address));
  return texts.filter((text) => typeof text === "string")[0]?.split("/")[0] ?? "";
}
