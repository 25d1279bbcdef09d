import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../pulumi/checked-arguments";
import { unprivileged } from "../kubernetes/pods";
import { workloads as images } from "../recipe/facts/data/images.json";
import { type OllamaSpec } from "../recipe/spec/index";
import { ollama as kind } from "../recipe/stack/workloads/ollama";
import { accessRules, registeredWith, type ServerAccess } from "./gpu-access";
import { ollamaModels } from "./ollama-models";
import { type StorageArgs, storingServer } from "./storing-server";

const { port } = kind.server;
const home = "/var/lib/ollama";

/** Arguments of an Ollama server. */
export interface OllamaArgs extends OllamaSpec, ServerAccess {}

/**
 * Ollama on a GPU: a namespace, a volume for models, the server, and a Job for each model, which pulls the model once
 * the server runs. If you remove a model from the list, the model stays on the volume.
 *
 * Outside of a GpuCluster, the package does not check whether objects of the same name already exist. If a killed
 * update left such objects, the next update fails until you import or delete them.
 */
export class Ollama extends pulumi.ComponentResource {
  /**
   * URL of the API within the cluster, e.g. `http://ollama.ollama.svc:11434`. Resolves once the server is ready and
   * every model is pulled.
   */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: OllamaArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("Ollama", name, "ollama", args, accessRules);
    super("talos-gpu:index:Ollama", name, registeredWith(args), opts);
    const child = { parent: this };
    const alive = { httpGet: { path: "/", port: "http" } };
    const storing: StorageArgs = {
      storage: "30Gi",
      mountPath: home,
      container: (readyWithin) => ({
        image: args.image ?? images.ollama,
        env: [
          { name: "HOME", value: home }, // its key pair
          { name: "OLLAMA_MODELS", value: `${home}/models` },
          { name: "OLLAMA_HOST", value: `0.0.0.0:${port}` },
        ],
        securityContext: unprivileged,
        // The server finds and tries the cards before it listens, which takes long with a cold card or with many cards.
        startupProbe: { ...alive, periodSeconds: 5, failureThreshold: Math.ceil(readyWithin / 5) },
        readinessProbe: { ...alive, periodSeconds: 5 },
        livenessProbe: { ...alive, periodSeconds: 10, failureThreshold: 6 },
      }),
      pod: {
        terminationGracePeriodSeconds: 60,
        // Any user may use the cards' device nodes; the group lets it write the volume.
        securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
      },
    };
    const ollama = storingServer(name, kind, args, storing, child);
    const running = { ...child, dependsOn: ollama.runs! };
    const pulled = ollamaModels(name, args, ollama.namespace, ollama.endpoint, running);
    const names = pulled.map((job) => job.metadata.name);
    this.endpoint = pulumi.all([ollama.endpoint, ...names]).apply(([url]) => url as string);
    this.registerOutputs({ endpoint: this.endpoint });
  }
}
