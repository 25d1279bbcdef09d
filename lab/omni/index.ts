import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { json } from "node:stream/consumers";
import { stringify } from "yaml";
import { configPatchType, omniLabel } from "../../components/recipe";
import type { Progress } from "../engine";
import { listen } from "../loopback";
import type { Say } from "../phases";
import { OmniMachine, type ManagedMachine, type OmniParts } from "./machine";
import { Refused, Resources, type Resource } from "./resources";

export { omniSchematic } from "./machine";

/** An emulated Omni that listens on 127.0.0.1. */
export interface LabOmni {
  /** For OMNI_ENDPOINT. */
  endpoint: string;
  /** For OMNI_SERVICE_ACCOUNT_KEY. */
  serviceAccountKey: string;
  /** Folder with its omnictl, for PATH. */
  bin: string;
  resources: Resources;
  /** Adds a waiting machine to its cluster, as the cluster's owner. False if no machine of that ID waits. */
  addToCluster(uuid: string): boolean;
  close(): Promise<void>;
}

/**
 * Emulates the part of Omni that this package uses: the resources that users write, and their effect on machines.
 * Clients reach the machines directly; Omni's proxy in front of their API, which allows only reading calls
 * (siderolabs/omni, internal/backend/grpc/router/talos_backend.go), is not emulated.
 */
export async function startOmni(
  parts: Omit<OmniParts, "resources">,
  managed: ManagedMachine[],
): Promise<LabOmni> {
  const resources = new Resources();
  const machines = managed.map((machine) => new OmniMachine(machine, { ...parts, resources }));
  const key = randomBytes(24).toString("base64url");
  const server = http.createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${key}`) {
      answer(401, "rpc error: code = Unauthenticated desc = invalid signature");
      return;
    }
    serve(request, resources, machines, parts).then(
      (body) => answer(200, body),
      (error: Error) => answer(error instanceof Refused ? 400 : 500, error.message),
    );
  });
  const { url, close } = await listen(server);
  return {
    endpoint: url,
    serviceAccountKey: key,
    bin: writeClient(parts.dir),
    resources,
    addToCluster: (uuid) => {
      const waitingMachine = machines.find(
        (machine) => machine.managed.uuid === uuid && !machine.member,
      );
      waitingMachine?.joinCluster();
      return waitingMachine !== undefined;
    },
    close,
  };
}

function writeClient(dir: string): string {
  const bin = path.join(dir, "bin");
  fs.mkdirSync(bin, { recursive: true, mode: 0o700 });
  const command = [process.execPath, path.join(__dirname, "omnictl.js")]
    .map((word) => `'${word}'`)
    .join(" ");
  fs.writeFileSync(path.join(bin, "omnictl"), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o700 });
  return bin;
}

async function serve(
  request: http.IncomingMessage,
  resources: Resources,
  machines: OmniMachine[],
  parts: Pick<OmniParts, "factory" | "nodeReady">,
): Promise<unknown> {
  const [, , type = "", id] = (request.url ?? "").split("/").map(decodeURIComponent);
  if (request.method === "POST") {
    resources.put((await json(request)) as Resource);
    machines.forEach((machine) => machine.scheduleReconcile());
    return {};
  }
  if (request.method === "DELETE") {
    const wasDeleted = resources.delete(type, id ?? "");
    if (wasDeleted) machines.forEach((machine) => machine.scheduleReconcile());
    return { found: wasDeleted };
  }
  const items = [
    ...resources.all(type),
    ...clusters(type, machines),
    ...(await statuses(type, machines, parts)),
  ];
  const selected = items.filter(({ metadata }) => id === undefined || metadata.id === id);
  // COSI's message (cosi-project/runtime, pkg/state/impl/inmem/errors.go).
  if (id !== undefined && selected.length === 0)
    throw new Refused(
      `rpc error: code = NotFound desc = resource ${type}(default/${id}@undefined) doesn't exist`,
    );
  // As omnictl prints them (siderolabs/omni, client/pkg/omnictl/output).
  return { text: selected.map((item) => stringify(asYaml(item), { indent: 4 })).join("---\n") };
}

/**
 * Printed as YAML, a patch has its data and an empty field, since Omni stores the content compressed (siderolabs/omni,
 * client/api/omni/specs/config_patch.go, MarshalYAML; client/pkg/template/testdata/cluster1-resources.yaml). Printed as
 * JSON, it lacks the empty field.
 */
const asYaml = (item: Resource): Resource =>
  item.metadata.type === configPatchType
    ? { ...item, spec: { ...item.spec, compresseddata: [] } }
    : item;

/** The clusters exist even before a machine has joined them: their owner has made them. */
function clusters(type: string, machines: OmniMachine[]): Resource[] {
  if (type !== "Clusters.omni.sidero.dev") return [];
  const byName = new Map(machines.map(({ managed }) => [managed.cluster, managed.talosVersion]));
  return [...byName].map(([id, version]) => ({
    metadata: { namespace: "default", type, id, labels: {} },
    spec: { talosversion: version.replace(/^v/, "") },
  }));
}

/**
 * Omni's status of its machines. The keys are those that omnictl prints, the Go names in lower case
 * (client/api/omni/specs/omni.proto).
 */
async function statuses(
  type: string,
  machines: OmniMachine[],
  { factory, nodeReady }: Pick<OmniParts, "factory" | "nodeReady">,
): Promise<Resource[]> {
  const specs = await Promise.all(
    machines.map(async (machine): Promise<Record<string, unknown> | undefined> => {
      const state = await machine.state();
      if (type === "MachineStatuses.omni.sidero.dev") {
        const extensions = factory.schematics().get(state.schematicId)?.extensions ?? [];
        return {
          talosversion: state.talosVersion,
          connected: true,
          maintenance: state.stage === "maintenance",
          cluster: machine.member ? machine.managed.cluster : "",
          schematic: { extensions, fullid: state.schematicId },
        };
      }
      if (!machine.member) return undefined;
      if (type === "ClusterMachineStatuses.omni.sidero.dev") {
        return {
          // Talos counts its node among the conditions (talos, controllers/runtime/machine_status.go, nodeReadyCheck).
          ready:
            state.ready && state.stage === "running" && (await nodeReady(machine.managed.name)),
          configuptodate: machine.upToDate,
          lastconfigerror: machine.lastError,
        };
      }
      return type === "MachinePendingUpdates.omni.sidero.dev" && !machine.upToDate
        ? { configdiff: "" }
        : undefined;
    }),
  );
  return specs.flatMap((spec, index) => {
    const { member, managed } = machines[index]!;
    const { cluster, machineSet, uuid } = managed;
    const labels: Record<string, string> = !member
      ? {}
      : { [omniLabel.cluster]: cluster, [omniLabel.machineSet]: machineSet };
    return spec === undefined
      ? []
      : [{ metadata: { namespace: "default", type, id: uuid, labels }, spec }];
  });
}

/** Tasks that the program gives the owner (components/program/omni/wait.ts, addToCluster). */
const addMachineMessage = /add the machine (\S+) to the cluster (\S+) in Omni/;

/**
 * Acts as the owner of the clusters in Omni, who alone adds machines to them. It reads the run's messages, and adds a
 * machine once when one requests it. A real owner does it on the cluster's page in Omni; a sync of a cluster template
 * would delete the stack's patches and extensions (siderolabs/omni, client/pkg/template/template.go), and the program
 * refuses a cluster that has one.
 */
export function addRequestedMachines(
  omni: LabOmni | undefined,
  say: Say,
  onEvent: (progress: Progress) => void,
) {
  return (progress: Progress): void => {
    onEvent(progress);
    const [, uuid, cluster] =
      (progress.kind === "message" && addMachineMessage.exec(progress.message)) || [];
    if (uuid !== undefined && omni?.addToCluster(uuid)) {
      say(`the lab, as the owner of ${cluster}, adds the machine ${uuid} to the cluster`);
    }
  };
}
