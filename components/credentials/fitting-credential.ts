import { stringify } from "yaml";
import { boundedYaml } from "../recipe/rules/yaml";
import { renderFinding } from "../recipe/stack/findings";
import { type Credential, credentials } from "./credentials";
import { isMapping, listOf } from "../recipe/mapping";
import { fitsVariable, LONGEST_VARIABLE } from "../clients/longest-variable";

/**
 * A credential as the program gets it by its environment. A kubeconfig or talosconfig that is too long for a
 * variable, since it has many contexts, is reduced to the one that it uses.
 *
 * @throws Error where that is too long as well: the program could not start.
 */
export function fittingCredential(name: Credential, text: string): string {
  if (fitsVariable(text)) return text;
  const used = usedContext(name, text);
  if (used !== undefined && fitsVariable(used)) return used;
  throw new Error(
    renderFinding({
      field: name,
      problem: `it has ${Math.ceil(Buffer.byteLength(text) / 1024)} KiB, of at most ${LONGEST_VARIABLE / 1024} KiB`,
      why: "the program gets it by a variable of its environment, and Linux starts no program with a longer one",
      remedy:
        name === "kubeconfig" || name === "talosconfig"
          ? "give a file that has this cluster alone"
          : `give a shorter one (${credentials[name].variable})`,
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
  const named = (list: unknown, name: unknown) =>
    listOf(list).filter((one) => isMapping(one) && one["name"] === name);
  const contexts = named(config["contexts"], config["current-context"]);
  const [context] = contexts;
  const used = isMapping(context) && isMapping(context["context"]) ? context["context"] : {};
  const clusters = named(config["clusters"], used["cluster"]);
  return { ...config, contexts, clusters, users: named(config["users"], used["user"]) };
}
