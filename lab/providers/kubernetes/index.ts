import type { Answer, CallContext, CheckFailure, DiffResult, LabProvider, Properties } from "../provider";
import { differences, isMap, secret, UNKNOWN } from "../values";
import { Cluster } from "./cluster";
import { HelmRelease, type HelmOptions } from "./helm";
import { comparable, replacing } from "./immutable";
import { readKubeconfig } from "./kubeconfig";
import { createObject, deleteObject, type ObjectSettings, readObject, updateObject } from "./objects";
import { asksForReadiness, isUnready, replaceUnready } from "./replace-unready";
import { keepsName, parseToken, releaseType, withName } from "./tokens";

/** What the provider needs besides its configuration. */
export type KubernetesOptions = HelmOptions;

const settingsKnown = [
  "kubeconfig",
  "clusterIdentifier",
  "context",
  "namespace",
  "enableServerSideApply",
  "enablePatchForce",
];
const settingsWithoutEffect = [
  "enableConfigMapMutable",
  "enableSecretMutable",
  "suppressDeprecationWarnings",
  "suppressHelmHookWarnings",
  "version",
  "pluginDownloadURL",
];

/** Types as pulumi-kubernetes v4.34 has them (provider/pkg/gen/schema.go, `Provider.InputProperties`). */
const settingTypes = Object.fromEntries(
  [...settingsKnown, ...settingsWithoutEffect]
    .filter((name) => name !== "version" && name !== "pluginDownloadURL") // options, no properties
    .map((name) => [name, { type: /^(enable|suppress)/.test(name) ? "boolean" : "string" }]),
);

/**
 * Objects of any kind, patches, and Helm releases against a real API server, by the rules of `@pulumi/kubernetes` 4
 * (github.com/pulumi/pulumi-kubernetes, named where they stand). Make one per provider resource.
 */
export class KubernetesProvider implements LabProvider {
  readonly name = "kubernetes";
  readonly version = "4.34.2";
  /** Settings of the provider alone: a program in YAML is judged by them before it runs. Objects are judged by the API server. */
  readonly schema = JSON.stringify({
    name: this.name,
    version: this.version,
    provider: { inputProperties: settingTypes },
  });
  private settings: ObjectSettings | undefined;
  private answers: Promise<void> | undefined;
  private unreachable = "provider kubernetes: not configured";
  private config: Properties = {};
  private readonly releases: HelmRelease;

  constructor(options: KubernetesOptions) {
    this.releases = new HelmRelease(options);
  }

  /** Refuses settings that the lab does not have, rather than ignoring them. */
  checkConfig(config: Properties): CheckFailure[] {
    return Object.keys(config)
      .filter((key) => ![...settingsKnown, ...settingsWithoutEffect].includes(key) && !key.startsWith("__"))
      .map((property) => ({ property, reason: `the lab has no such setting; known: ${settingsKnown.join(", ")}` }));
  }

  /**
   * Another API server means other objects, and all of them are replaced; with a `clusterIdentifier`, only another one does
   * (provider.go, DiffConfig).
   */
  diffConfig(olds: Properties, news: Properties): DiffResult {
    const detailed = differences(olds, news);
    const changed = Object.keys(detailed);
    const [was, is] = [olds["clusterIdentifier"], news["clusterIdentifier"]];
    if (is !== undefined) {
      const isOther = was !== undefined && was !== is;
      return { changes: changed.length > 0, replaces: isOther ? ["clusterIdentifier"] : [], detailed };
    }
    const server = (config: Properties): string | undefined => {
      try {
        return readKubeconfig(String(config["kubeconfig"]), text(config["context"])).server;
      } catch {
        return undefined; // a config that cannot be read is no other cluster; configure reports it
      }
    };
    const unknown = news["kubeconfig"] === UNKNOWN || news["context"] === UNKNOWN;
    const [before, after] = unknown ? ["", UNKNOWN] : [server(olds), server(news)];
    const moved = before !== undefined && after !== undefined && before !== after;
    const replaces = moved ? changed.filter((key) => ["kubeconfig", "context"].includes(key)) : [];
    return { changes: changed.length > 0, replaces, detailed };
  }

  /**
   * Reads the kubeconfig, and asks the cluster once: one that cannot be used, or does not answer now, makes every later operation
   * fail with the reason, and none asks again (provider.go, Configure: clusterUnreachable).
   */
  configure(config: Properties): void {
    this.config = config;
    const kubeconfig = text(config["kubeconfig"]);
    try {
      if (kubeconfig === undefined)
        throw new Error(
          "kubeconfig: not set; the lab does not fall back to this machine's own, which may be somebody's real cluster",
        );
      const access = readKubeconfig(kubeconfig, text(config["context"]));
      const cluster = new Cluster({ ...access, namespace: text(config["namespace"]) ?? access.namespace });
      this.settings = { cluster, force: isTrue(config["enablePatchForce"]) };
      this.answers = cluster.reach(new AbortController().signal).catch((error: Error) => {
        this.settings = undefined;
        this.unreachable = `${unreachable}: unable to load schema information from the API server: ${error.message}`;
      });
    } catch (error) {
      this.unreachable = `${unreachable}: ${(error as Error).message}`;
    }
  }

  check(
    type: string,
    olds: Properties,
    news: Properties,
    context: CallContext,
  ): Answer<{ inputs: Properties; failures: CheckFailure[] }> {
    if (type === releaseType) return this.releases.check(olds, news, context);
    const token = parseToken(type);
    const metadata = isMap(news["metadata"]) ? news["metadata"] : {};
    if (token.patch && this.config["enableServerSideApply"] !== undefined && !this.serverSide)
      throw new Error(`${type}: patches need server-side apply, and enableServerSideApply is off in this provider`);
    const failures: CheckFailure[] = [
      ...(token.patch && !metadata["name"]
        ? [{ property: "metadata.name", reason: "a patch must name the object that it changes" }]
        : []),
      ...(metadata["generateName"]
        ? [{ property: "metadata.generateName", reason: "not possible with server-side apply; leave the name out" }]
        : []),
    ];
    const inputs = token.patch ? news : withName(news, olds, context.name, context.randomSeed);
    return { inputs: token.kind === "Secret" ? hidden(inputs) : inputs, failures };
  }

  async diff(type: string, _id: string, olds: Properties, news: Properties, context: CallContext): Promise<DiffResult> {
    if (type === releaseType) return this.releases.diff(olds, news);
    const token = parseToken(type);
    const { apiVersion, kind, patch } = token;
    const detailed = differences(comparable(olds), comparable(news));
    const changed = Object.keys(detailed);
    const mutable = { ConfigMap: "enableConfigMapMutable", Secret: "enableSecretMutable" }[kind];
    const inPlace = mutable !== undefined && isTrue(this.config[mutable]);
    const replaces = replacing(apiVersion, inPlace ? "" : kind, patch, changed);
    if (asksForReadiness(kind, news)) {
      const settings = await this.reached(true, context);
      if (settings && (await isUnready(settings, token, context))) replaces.push(replaceUnready);
    }
    const deleteBeforeReplace = replaces.length > 0 && keepsName(olds, news);
    return { changes: changed.length > 0 || replaces.length > 0, replaces, deleteBeforeReplace, detailed };
  }

  async create(
    type: string,
    inputs: Properties,
    preview: boolean,
    _urn: string,
    timeout: number,
    context: CallContext,
  ): Promise<{ id: string; outputs: Properties }> {
    const settings = await this.reached(preview, context);
    if (!settings) return { id: "", outputs: inputs };
    if (type === releaseType) return this.releases.create(settings.cluster, inputs, preview, context);
    const token = parseToken(type);
    if (preview && token.patch) return { id: "", outputs: inputs };
    return createObject(settings, token, inputs, preview, timeout, context);
  }

  async read(type: string, id: string, state: Properties, context: CallContext) {
    const settings = await this.reached(false, context);
    if (type === releaseType) return this.releases.read(settings.cluster, id, state, context);
    return readObject(settings, parseToken(type), id, state, context);
  }

  async update(
    type: string,
    _id: string,
    olds: Properties,
    news: Properties,
    preview: boolean,
    timeout: number,
    context: CallContext,
  ): Promise<{ outputs: Properties }> {
    const settings = await this.reached(preview, context);
    if (!settings) return { outputs: news };
    if (type === releaseType) return this.releases.update(settings.cluster, olds, news, preview, context);
    return updateObject(settings, parseToken(type), olds, news, preview, timeout, context);
  }

  async delete(type: string, _id: string, state: Properties, timeout: number, context: CallContext): Promise<void> {
    const settings = await this.reached(false, context);
    if (type === releaseType) return this.releases.delete(settings.cluster, state, context);
    return deleteObject(settings, parseToken(type), state, timeout, context);
  }

  private get serverSide(): boolean {
    return isTrue(this.config["enableServerSideApply"]);
  }

  /** The cluster, if it answered. A preview without a cluster warns and goes on without it; everything else fails. */
  private reached(preview: false, context: CallContext): Promise<ObjectSettings>;
  private reached(preview: boolean, context: CallContext): Promise<ObjectSettings | undefined>;
  private async reached(preview: boolean, context: CallContext): Promise<ObjectSettings | undefined> {
    await this.answers;
    if (this.settings) return this.settings;
    if (!preview) throw new Error(this.unreachable);
    context.log("warning", this.unreachable);
    return undefined;
  }
}

const unreachable = "configured Kubernetes cluster is unreachable";

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const isTrue = (value: unknown): boolean => value === true || value === "true";

/** A Secret's contents are secret, whatever they are made of (provider.go, annotateSecrets). */
function hidden(inputs: Properties): Properties {
  const contents = ["data", "stringData"].filter((key) => inputs[key] !== undefined);
  return { ...inputs, ...Object.fromEntries(contents.map((key) => [key, secret(inputs[key])])) };
}
