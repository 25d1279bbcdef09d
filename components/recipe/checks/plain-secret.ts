import { namesSecret, secretIn } from "../rules";
import { fieldOf } from "../stack/plain-data";
import type { Check, Found } from "./check";

/** What stands for a value that is not there, or names a file that holds it. */
const noValue = /^(?:|none|empty|dummy|unused|changeme|true|false|\/.*|\$\(.*\))$/i;

/** Fields that have a check of their own, with a better remedy. */
const toldElsewhere = /^(?:patches|machines\.[^[]*\.patches|workloads\.vllm\.args)\b/;

/** No field of a stack holds a secret in plain text. */
export const plainSecret: Check = {
  id: "plain-secret",
  source: "a stack file is committed, and what it says is in Pulumi's state and in the objects that are made of it",
  find: ({ spec }) => [...texts(spec, [])].flatMap(([path, text]) => complaint(path, text)),
};

function complaint(path: PropertyKey[], text: string): Found {
  const isVariable = path.at(-2) === "env" && namesSecret(String(path.at(-1)));
  const kind = secretIn(text) ?? (isVariable && !noValue.test(text) ? "a secret" : undefined);
  if (kind === undefined) return [];
  const field = fieldOf(path);
  if (toldElsewhere.test(field)) return [];
  return {
    field,
    problem: `holds ${kind}`,
    why: "it would be kept in plain text, in the stack file, in Pulumi's state and in the cluster's objects",
    remedy:
      "remove it and replace it by a new one, as others may have read it; keep it in a Kubernetes Secret that the container reads (for vLLM: workloads.vllm.huggingFaceToken; else define the pod in a program of your own, with the outputs runtimeClassName and gpuResourceName)",
  };
}

/** Every text of a value with its path. */
function* texts(value: unknown, path: PropertyKey[]): Generator<[PropertyKey[], string]> {
  if (typeof value === "string") yield [path, value];
  else if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* texts(item, [...path, index]);
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) yield* texts(item, [...path, key]);
}
