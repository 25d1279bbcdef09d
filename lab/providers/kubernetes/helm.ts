import { randomBytes } from "node:crypto";
import { parse } from "yaml";
import {
  type CallContext,
  type CheckFailure,
  type DiffResult,
  InitializationError,
  type Properties,
} from "../provider";
import { containsUnknown, differences, isMap } from "../values";
import type { Cluster } from "./cluster";
import { conditionReasons, podReasons, warnings } from "./explain";
import { HelmError, type HelmPlace, type HelmStatus, runHelm } from "./helm-cli";

/** What Helm does to a release. */
type Operation = "install" | "upgrade";

/** What a release needs from outside. */
export interface HelmOptions extends HelmPlace {
  /** Arguments that name a chart to Helm: its folder, or its name with `--repo` and `--version`. */
  readonly charts: (repository: string, chart: string, version: string) => string[];
  /** What Helm found, by these arguments, in repositories that stay as they are: not asked again. Default: asked each time. */
  readonly found?: Map<string, string>;
}

// Inputs that become a switch of the command line; others than these and the ones below are refused. An installation and an
// upgrade have their own (helm_release.go, helmCreate and helmUpdate).
const both = { atomic: "--atomic", waitForJobs: "--wait-for-jobs" };
const switches: Readonly<Record<Operation, Readonly<Record<string, string>>>> = {
  install: {
    ...both,
    createNamespace: "--create-namespace",
    disableWebhooks: "--no-hooks",
    replace: "--replace",
    skipCrds: "--skip-crds",
  },
  upgrade: {
    ...both,
    cleanupOnFail: "--cleanup-on-fail",
    disableCRDHooks: "--no-hooks",
    forceUpdate: "--force",
    resetValues: "--reset-values",
    reuseValues: "--reuse-values",
  },
};
const known = [
  "chart",
  "compat",
  "description",
  "maxHistory",
  "name",
  "namespace",
  "repositoryOpts",
  "skipAwait",
  "timeout",
];
const knownToo = ["values", "version", "allowNullValues", "status", "resourceNames", "manifest"];

const defaultSeconds = 300; // helm_release.go, the input's own default

/** `kubernetes:helm.sh/v3:Release` through the real Helm (pulumi-kubernetes v4.32.0, provider/pkg/provider/helm_release.go). */
export class HelmRelease {
  constructor(private readonly options: HelmOptions) {}

  /**
   * Names the release, and fetches its chart, at every run and whatever changed: a repository that does not answer, or a chart
   * that it does not have, is found here. What the templates make of the values is not asked before the installation.
   */
  async check(olds: Properties, news: Properties, context: CallContext) {
    const allowed = [...known, ...knownToo, ...Object.values(switches).flatMap(Object.keys)];
    const unknown = Object.keys(news).filter((key) => !allowed.includes(key) && !key.startsWith("__"));
    const failures: CheckFailure[] = unknown
      .filter((key) => news[key] !== false && news[key] !== null)
      .map((property) => ({ property, reason: "the lab's Helm release has no such input" }));
    if (news["allowNullValues"]) context.log("warning", "allowNullValues is deprecated and has no effect");
    const seed = Buffer.from(context.randomSeed.subarray(0, 4)).toString("hex");
    const name = news["name"] || olds["name"] || `${context.name}-${seed || randomBytes(4).toString("hex")}`;
    const inputs = { ...news, name, namespace: news["namespace"] || "default" };
    if (failures.length > 0 || containsUnknown(news)) return { inputs, failures };
    try {
      return { inputs: { ...inputs, version: await this.versionOf(news, context) }, failures };
    } catch (error) {
      const reason = `${(error as Error).message}; check the chart name and repository configuration.`;
      return { inputs, failures: [{ property: "chart", reason }] };
    }
  }

  diff(olds: Properties, news: Properties): DiffResult {
    const detailed = differences(olds, news);
    const changed = Object.keys(detailed);
    return {
      changes: changed.length > 0,
      replaces: changed.filter((key) => key === "name" || key === "namespace"),
      detailed,
    };
  }

  async create(cluster: Cluster, inputs: Properties, preview: boolean, context: CallContext) {
    const { name, namespace } = identity(inputs);
    if (preview) return { id: "", outputs: inputs };
    return { id: `${namespace}/${name}`, outputs: await this.run("install", cluster, inputs, context) };
  }

  async update(cluster: Cluster, _olds: Properties, news: Properties, preview: boolean, context: CallContext) {
    return { outputs: preview ? news : await this.run("upgrade", cluster, news, context) };
  }

  async read(cluster: Cluster, id: string, state: Properties, context: CallContext) {
    const [namespace, name] = id.split("/");
    const status = await this.status(cluster, { ...state, namespace, name }, context);
    if (!status) return null;
    return { id, inputs: context.oldInputs, outputs: { ...state, ...outputsOf(status) } };
  }

  /** Waits for its objects to go as long as the installation waited for them to come. */
  async delete(cluster: Cluster, state: Properties, context: CallContext): Promise<void> {
    const { name, namespace } = identity(state);
    const waits = state["atomic"] === true || state["skipAwait"] !== true;
    const args = [
      "uninstall",
      name,
      "--namespace",
      namespace,
      ...(waits ? ["--wait", "--timeout", limitOf(state)] : []),
    ];
    await runHelm(this.options, args, cluster.access, context);
  }

  private async run(
    operation: Operation,
    cluster: Cluster,
    inputs: Properties,
    context: CallContext,
  ): Promise<Properties> {
    const { name, namespace } = identity(inputs);
    const args = [
      ...[operation, name, ...this.chart(inputs), "--namespace", namespace, "--output", "json"],
      ...(inputs["skipAwait"] === true ? [] : ["--wait"]),
      ...["--timeout", limitOf(inputs)],
      ...(operation === "upgrade" ? ["--history-max", String(numeric(inputs["maxHistory"]))] : []),
      ...(typeof inputs["description"] === "string" ? ["--description", inputs["description"]] : []),
      ...Object.entries(switches[operation]).flatMap(([input, flag]) => (inputs[input] === true ? [flag] : [])),
    ];
    try {
      const output = await runHelm(this.options, args, cluster.access, context, valuesOf(inputs));
      return { ...inputs, ...outputsOf(JSON.parse(output) as HelmStatus) };
    } catch (error) {
      if (!(error instanceof HelmError) || context.signal.aborted) throw error;
      throw await this.broken(cluster, inputs, error, context);
    }
  }

  /**
   * A release that was recorded stays in the state, so that the next update goes on with it: but not one that Helm refused to
   * touch, since it is somebody's already, or somebody is at work on it (helm_release.go: no release comes with the error).
   */
  private async broken(cluster: Cluster, inputs: Properties, error: HelmError, context: CallContext): Promise<Error> {
    const { name, namespace } = identity(inputs);
    const reasons = await this.reasons(cluster, namespace, context).catch((failure: Error) => [failure.message]);
    const message = [`Helm release ${namespace}/${name}: ${error.message}`, ...reasons].join("\n  ");
    const refused =
      /cannot re-use a name that is still in use|another operation \(install\/upgrade\/rollback\) is in progress/;
    const status = refused.test(message)
      ? undefined
      : await this.status(cluster, inputs, context).catch(() => undefined);
    if (!status) return new Error(message);
    const outputs = { ...inputs, ...outputsOf(status) };
    return new InitializationError(message, `${namespace}/${name}`, outputs, [message]);
  }

  /** What Helm does not say when it gives up: which objects of the namespace are not ready, and why. */
  private async reasons(cluster: Cluster, namespace: string, context: CallContext): Promise<string[]> {
    const list = (path: string) => cluster.list(path, {}, context.signal).then(({ items }) => items);
    const pods = await list(`/api/v1/namespaces/${namespace}/pods`);
    const deployments = await list(`/apis/apps/v1/namespaces/${namespace}/deployments`);
    return [
      ...deployments.flatMap((object) => conditionReasons({ ...object, kind: "Deployment" })),
      ...pods.flatMap((object) => podReasons({ ...object, kind: "Pod" })),
      ...(await warnings(cluster, namespace, undefined, context.signal)),
    ];
  }

  /** Release of the chart that Helm takes: the one that is asked for, or the newest that fits. */
  private async versionOf(inputs: Properties, context: CallContext): Promise<string> {
    if (typeof inputs["chart"] !== "string") throw new Error("a release needs a chart");
    const args = ["show", "chart", ...this.chart(inputs)];
    const key = args.join("\0");
    const text = this.options.found?.get(key) ?? (await runHelm(this.options, args, undefined, context));
    this.options.found?.set(key, text);
    return String((parse(text) as { version?: unknown }).version);
  }

  private async status(cluster: Cluster, inputs: Properties, context: CallContext): Promise<HelmStatus | undefined> {
    const { name, namespace } = identity(inputs);
    const args = ["status", name, "--namespace", namespace, "--output", "json"];
    try {
      return JSON.parse(await runHelm(this.options, args, cluster.access, context)) as HelmStatus;
    } catch (error) {
      if (error instanceof HelmError && error.message.includes("not found")) return undefined;
      throw error;
    }
  }

  private chart(inputs: Properties): string[] {
    const options = isMap(inputs["repositoryOpts"]) ? inputs["repositoryOpts"] : {};
    return this.options.charts(text(options["repo"]), text(inputs["chart"]), text(inputs["version"]));
  }
}

const identity = (inputs: Properties) => ({ name: String(inputs["name"]), namespace: String(inputs["namespace"]) });

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const numeric = (value: unknown): number => (typeof value === "number" ? value : 0);

/** The release's own limit; the engine's is none of Helm's business (helm_release.go, getTimeoutOrDefault). */
const limitOf = (inputs: Properties): string => `${numeric(inputs["timeout"]) || defaultSeconds}s`;

const valuesOf = (inputs: Properties): Properties => (isMap(inputs["values"]) ? inputs["values"] : {});

function outputsOf({ name, namespace, version, info, chart, manifest }: HelmStatus): Properties {
  const { metadata } = chart ?? {};
  const kinds = [...(manifest ?? "").matchAll(/^kind: (\S+)[\s\S]*?^metadata:[\s\S]*?^ {2}name: (\S+)/gm)];
  const resourceNames: Record<string, string[]> = {};
  for (const [, kind = "", object = ""] of kinds) (resourceNames[kind] ??= []).push(object.replace(/"/g, ""));
  return {
    resourceNames,
    status: {
      name,
      namespace,
      revision: version,
      status: info?.status,
      chart: metadata?.name,
      version: metadata?.version,
      appVersion: metadata?.appVersion,
    },
  };
}
