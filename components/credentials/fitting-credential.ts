import { stringify } from "yaml";
import { boundedYaml } from "../recipe/rules/yaml";
import { renderFinding } from "../recipe/stack/findings";
import { type Credential, credentials } from "./credentials";
import { isMapping, listOf } from "../recipe/mapping";
import { fitsVariable, LONGEST_VARIABLE } from "../clients/longest-variable";

/**
 * A credential in the form that fits an environment variable. A kubeconfig or talosconfig that is too long is reduced
 * to its current context.
 *
 * @throws Error if the credential is still too long, because the program could not start with it.
 */
export function fittingCredential(name: Credential, text: string): string {
  if (fitsVariable(text)) return text;
  const used = usedContext(name, text);
  if (used !== undefined && fitsVariable(used)) return used;
  throw new Error(
    renderFinding({
      field: name,
      problem: `is ${Math.ceil(Buffer.byteLength(text) / 1024)} KiB long (limit ${LONGEST_VARIABLE / 1024} KiB)`,
      why: "the program receives it in an environment variable, and Linux starts no program with a longer variable",
      remedy:
        name === "kubeconfig" || name === "talosconfig"
          ? "pass a file with only this cluster"
          : `pass a shorter value (${credentials[name].variable})`,
    }),
  );
}

/** The configuration reduced to its current context; undefined for a credential without contexts. */
function usedContext(name: Credential, text: string): string | undefined {
  const config: unknown =
    name === "kubeconfig" || name === "talosconfig" ? boundedYaml(text) : undefined;
  if (!isMapping(config)) return undefined;
  return stringify(name === "kubeconfig" ? usedOfKubeconfig(config) : usedOfTalosconfig(config), {
    lineWidth: 0,
  });
}

function usedOfTalosconfig(config: Record<string, unknown>): object {
  const used = String(config["context"]);
  const contexts = isMapping(config["contexts"]) ? config["contexts"] : {};
  return { ...config, contexts: { [used]: contexts[used] } };
}

function usedOfKubeconfig(config: Record<string, unknown>): object {
  const entriesNamed = (list: unknown, name: unknown) =>
    listOf(list).filter((entry) => isMapping(entry) && entry["name"] === name);
  const contexts = entriesNamed(config["contexts"], config["current-context"]);
  const [context] = contexts;
  const contextContent =
    isMapping(context) && isMapping(context["context"]) ? context["context"] : {};
  const clusters = entriesNamed(config["clusters"], contextContent["cluster"]);
  return {
    ...config,
    contexts,
    clusters,
    users: entriesNamed(config["users"], contextContent["user"]),
  };
}
