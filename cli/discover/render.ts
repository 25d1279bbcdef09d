import { Document, isMap, type Node } from "yaml";
import { unnamedCard } from "./cards";
import type { Discovered } from "./stack-of";

/**
 * The stack file, as `Pulumi.<stack>.yaml` has it.
 *
 * @param source what was looked at, e.g. the URL of its Kubernetes API.
 */
export function renderDiscovered(
  { spec, notes, comments, findings }: Discovered,
  unseen: readonly string[],
  source: string,
): string {
  const config = Object.fromEntries(Object.entries(spec).map(([key, value]) => [`talos-gpu:${key}`, value]));
  const document = new Document({ config });
  const left = [
    ...unseen,
    ...findings.map(({ field, problem, remedy }) => `${field}: ${problem}; ${remedy}`),
    ...notes,
  ];
  document.commentBefore = [
    ` The cluster at ${source}, as it was seen; nothing was changed.`,
    " Left to you:",
    ...left.map((text) => ` - ${oneLine(text)}`),
  ].join("\n");
  for (const [path, texts] of Object.entries(comments)) {
    const keys = keysOf(path);
    const parent = document.getIn(["config", ...keys.slice(0, -1)]);
    const pair = isMap(parent) ? parent.items.find(({ key }) => String(key) === keys.at(-1)) : undefined;
    const key = pair?.key as Node | undefined;
    const text = texts.map((one) => ` ${oneLine(one)}`).join("\n");
    if (key === undefined) document.commentBefore += `\n - ${path}:${text}`;
    else key.commentBefore = text;
  }
  return document
    .toString({ lineWidth: 0 })
    .replaceAll(`model: ${unnamedCard}\n`, `model: ${unnamedCard} # the card's model, e.g. RTX 3090\n`);
}

/** `machines.a.b` is the machine `a.b`: names may have dots. */
function keysOf(path: string): string[] {
  const [first = "", ...rest] = path.split(".");
  return [`talos-gpu:${first}`, ...(rest.length > 0 ? [rest.join(".")] : [])];
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ");
