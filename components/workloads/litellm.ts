import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../pulumi/checked-arguments";
import { isToCome } from "../recipe/checks/check-arguments";
import { defined, isMapping } from "../recipe/mapping";
import { stringify } from "yaml";
import {
  type GpuToleration,
  labels,
  podTolerations,
  secretVariable,
  unprivileged,
} from "../kubernetes/pods";
import { workloads as images } from "../recipe/facts/data/images.json";
import { type LiteLlmSpec, type SecretKeySpec } from "../recipe/spec/index";
import { litellm as kind } from "../recipe/stack/workloads/litellm";
import { shortHash } from "../recipe/short-hash";
import { server } from "./server";
import { registeredWith } from "./gpu-access";
import { namespaceOf } from "./namespace";

const { name: ownName, port } = kind.server;
const configFile = "/etc/litellm/config.yaml";

/** A server behind a LiteLLM proxy. */
export interface LiteLlmServer {
  /**
   * LiteLLM's name of the provider, which says what API the server has: `ollama_chat`, `hosted_vllm` or another one.
   */
  provider: string;
  /** Names of the server's models to which the proxy routes requests, e.g. `llama3.2:3b`. */
  models: string[];
  /**
   * URL of the server, usually the output `endpoint` of its component. The stack creates the proxy once this URL has
   * resolved.
   */
  url: pulumi.Input<string>;
  /** API key that the server requires, in a Secret of the proxy's namespace. Default: none. */
  apiKeySecret?: SecretKeySpec;
}

/** Arguments of a LiteLLM proxy. */
export interface LiteLlmArgs extends LiteLlmSpec {
  /**
   * Servers to whose models the proxy routes requests. If a URL is the output `endpoint` of an Ollama or a Vllm, the
   * proxy waits until the models are there.
   */
  servers: pulumi.Input<LiteLlmServer>[];
  /** Tolerations of the proxy's pods. Default: none. */
  tolerations?: GpuToleration[];
  /** Seconds within which the proxy must be ready, including the pull of its image. Default: 1200. */
  readyWithin?: number;
}

/**
 * LiteLLM: a proxy that offers the models of ollama and other servers at one OpenAI-compatible endpoint.
 *
 * Outside of a GpuCluster, the package does not check whether objects of the same name already exist. If a killed
 * update left such objects, the next update fails until you import or delete them.
 */
export class LiteLlm extends pulumi.ComponentResource {
  /** URL within the cluster, e.g. `http://litellm.litellm.svc:4000`. Resolves once the proxy is ready. */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: LiteLlmArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("LiteLlm", name, "litellm", withUrls(args), {});
    super("talos-gpu:index:LiteLlm", name, registeredWith(args), opts);
    const child = { parent: this };

    const serverNamespace = namespaceOf(name, kind, args, child);
    const text = modelList(args);
    const config = new k8s.core.v1.ConfigMap(
      `${name}-config`,
      {
        metadata: { name: "litellm-config", namespace: serverNamespace, labels: labels("litellm") },
        data: { "config.yaml": text },
      },
      child,
    );
    const { active = true, readyWithin = 1200 } = args;
    const revision = text.apply((content) => shortHash(content, 16));
    const spec = pod(args, config, readyWithin, revision);
    const { allowFrom } = args;
    const settings = {
      name: ownName,
      namespace: serverNamespace,
      port,
      active,
      readyWithin,
      allowFrom,
      pod: spec,
    };
    this.endpoint = server(name, settings, child).endpoint;
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

/**
 * The arguments in the form that the checks read. A server or URL that a preview does not know yet is replaced by a
 * valid one.
 */
function withUrls(args: unknown): unknown {
  if (!isMapping(args) || !Array.isArray(args["servers"])) return args;
  const url = "http://yet-to-come";
  const servers = args["servers"].map((serverArg: unknown) =>
    isToCome(serverArg)
      ? { provider: "p", models: [], url }
      : isMapping(serverArg) && isToCome(serverArg["url"])
        ? { ...serverArg, url }
        : serverArg,
  );
  return { ...args, servers };
}

/**
 * LiteLLM's configuration: each model with the provider and the URL of its server (litellm,
 * docs/my-website/docs/providers). LiteLLM distributes requests for a model among all servers that have it.
 */
const modelList = ({ servers }: LiteLlmArgs): pulumi.Output<string> =>
  pulumi.all(servers).apply((all) => {
    const entries = all.flatMap(({ provider, models, url, apiKeySecret }, index) => {
      // LiteLLM reads the variable (litellm, docs/my-website/docs/proxy/configs.md, "os.environ/").
      const api_key = apiKeySecret && `os.environ/${keyVariable(index)}`;
      const server = defined({ api_base: url, api_key });
      return models.map((name) => ({
        model_name: name,
        litellm_params: { model: `${provider}/${name}`, ...server },
      }));
    });
    return stringify({ model_list: entries });
  });

/** Name of the environment variable with the API key of the server at this index of `servers`. */
const keyVariable = (index: number): string => `SERVER_KEY_${index}`;

/**
 * Environment variables with the API keys that the servers require, and with the key that clients of the proxy must
 * send.
 */
const keysOf = ({
  servers,
  masterKeySecret,
}: LiteLlmArgs): pulumi.Output<k8s.types.input.core.v1.EnvVar[]> =>
  pulumi
    .all(servers)
    .apply((all) => [
      ...secretVariable(
        "LITELLM_MASTER_KEY",
        masterKeySecret === undefined
          ? undefined
          : { name: masterKeySecret, key: "LITELLM_MASTER_KEY" },
      ),
      ...all.flatMap(({ apiKeySecret }, index) => secretVariable(keyVariable(index), apiKeySecret)),
    ]);

function pod(
  args: LiteLlmArgs,
  config: k8s.core.v1.ConfigMap,
  readyWithin: number,
  revision: pulumi.Output<string>,
): pulumi.Input<k8s.types.input.core.v1.PodSpec> {
  // Both paths need no key (litellm, docs/my-website/docs/proxy/health.md).
  const ready = { httpGet: { path: "/health/readiness", port: "http" } };
  const alive = { httpGet: { path: "/health/liveliness", port: "http" } };
  return {
    tolerations: podTolerations(args.tolerations),
    automountServiceAccountToken: false,
    enableServiceLinks: false, // the Service's LITELLM_PORT would be taken for a setting of the proxy
    containers: [
      {
        name: "litellm",
        image: args.image ?? images.litellm,
        args: ["--config", configFile, "--port", String(port)],
        ports: [{ name: "http", containerPort: port }],
        // The proxy reads its configuration only at its start: a changed one needs a new pod.
        env: keysOf(args).apply((keys) => [{ name: "CONFIG_REVISION", value: revision }, ...keys]),
        // The image has no user of its own (litellm, Dockerfile: no USER).
        securityContext: unprivileged,
        startupProbe: { ...alive, periodSeconds: 5, failureThreshold: Math.ceil(readyWithin / 5) },
        readinessProbe: { ...ready, periodSeconds: 5 },
        livenessProbe: { ...alive, periodSeconds: 10, failureThreshold: 6 },
        volumeMounts: [{ name: "config", mountPath: "/etc/litellm", readOnly: true }],
      },
    ],
    volumes: [{ name: "config", configMap: { name: config.metadata.name } }],
  };
}
