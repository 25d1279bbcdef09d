import * as fs from "node:fs";
import type * as http from "node:http";
import { parse } from "yaml";

/** A rule of a ClusterRole. */
export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** The attributes by which Kubernetes authorizes a request. */
export interface ResourceAttributes {
  group: string;
  /** Includes a subresource after a slash, e.g. `pods/log`. */
  resource: string;
  verb: string;
}

/** Rules of the ClusterRole in a file. */
export function rulesOf(file: string): Rule[] {
  const role = parse(fs.readFileSync(file, "utf8")) as {
    apiVersion: string;
    kind: string;
    rules: Rule[];
  };
  if (role.apiVersion !== "rbac.authorization.k8s.io/v1" || role.kind !== "ClusterRole")
    throw new Error(`${file}: is no ClusterRole`);
  return role.rules;
}

const writingVerbs: Record<string, string> = { POST: "create", PUT: "update", PATCH: "patch" };

/**
 * The attributes of a request; undefined for a request that every authenticated user may make, such as the list of
 * kinds (kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, system:discovery). Source:
 * kubernetes, staging/src/k8s.io/apiserver, pkg/endpoints/request/requestinfo.go.
 */
export function attributesOfRequest({
  method = "GET",
  url = "/",
}: Pick<http.IncomingMessage, "method" | "url">): ResourceAttributes | undefined {
  const { pathname, searchParams } = new URL(url, "http://cluster");
  const [root, ...rest] = pathname.split("/").filter(Boolean);
  const group = root === "api" ? "" : (rest.shift() ?? "");
  const [, ...parts] = rest; // without the version
  if (!["api", "apis"].includes(root ?? "") || parts.length === 0) return undefined;
  // `namespaces/x` alone is an object. If more follows, it is the namespace of the object.
  const [kind = "", name, subresource] =
    parts[0] === "namespaces" && parts.length > 2 ? parts.slice(2) : parts;
  const resource = subresource === undefined ? kind : `${kind}/${subresource}`;
  if (method === "DELETE")
    return { group, resource, verb: name === undefined ? "deletecollection" : "delete" };
  const readingVerb =
    searchParams.get("watch") === "true" ? "watch" : name === undefined ? "list" : "get";
  return { group, resource, verb: writingVerbs[method] ?? readingVerb };
}

/** Whether the rules allow a request. */
export const rulesAllow = (
  rules: readonly Rule[],
  { group, resource, verb }: ResourceAttributes,
): boolean =>
  rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
  );

/** The attributes of every request that the rules allow. */
export const attributesOfRules = (rules: readonly Rule[]): ResourceAttributes[] =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
    ),
  );

/** A request's attributes as a text, e.g. `list pods`, `get runtimeclasses.node.k8s.io`. */
export const formatAttributes = ({ group, resource, verb }: ResourceAttributes): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
