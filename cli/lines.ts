import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Scalar,
} from "yaml";
import { asText } from "../components/recipe/mapping";
import { remembering, rememberingTexts } from "../components/recipe/memory";
import {
  boundedDocuments,
  boundsOfFile,
  type Documents,
} from "../components/recipe/rules/yaml-bounds";

/** A text that findings are about, and where it begins. */
export interface Piece {
  file: string;
  /** Line of the file in which the text begins, from 1. */
  line: number;
  text: string;
  /** The text as a part of a configuration, if `text` has another form. */
  part?: string;
}

/** The piece at a path of a piece's document. */
export function pieceAt(whole: Piece, document: Document, path: (string | number)[]): Piece {
  const node = document.getIn(path, true);
  if (!isNode(node) || !node.range) return whole;
  const [from, to] = node.range;
  const before = whole.text.slice(0, from).split("\n");
  return {
    ...whole,
    line: whole.line + before.length - 1,
    text: " ".repeat(before.at(-1)!.length) + whole.text.slice(from, to),
  };
}

/**
 * The line of a piece that a finding is about: of the path that its problem begins with, else of the longest word
 * that it shares, else of one of some other words.
 */
export const lineIn = ({ text, line }: Piece, problem: string, others = ""): number =>
  line -
  1 +
  (lineOfPath(text, problem.split(" ")[0]!) ??
    lineOfWord(text, problem) ??
    lineOfWord(text, others) ??
    1);

/** A text's documents, and where its lines begin. The findings of a file ask for its texts in turn. */
const parsed = rememberingTexts((text): Documents =>
  boundedDocuments(text, {}, boundsOfFile(text)),
);

/** The lines of a text. Each finding of a file asks for one of them. */
export const linesOf = rememberingTexts((text): readonly string[] => text.split("\n"));

function lineOfPath(text: string, said: string): number | undefined {
  if (!/^[a-z]\w*(?:[.[]|$)/i.test(said)) return undefined;
  const steps = said.split(/[.[\]]+/).filter((step) => step !== "");
  const { documents, lineCounter } = parsed(text);
  for (const document of documents) {
    let found = lineOfOperation(document.contents, steps, lineCounter);
    for (const node of nodesOnWay(document.contents, said))
      found = lineCounter.linePos(node.range![0]).line;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Value at a path such as `machine.files[0].path` or `LinkConfig.mtu` in a document; undefined if there is none. */
export function valueOnWay(document: Document, said: string): unknown {
  const nodes = [...nodesOnWay(document.contents, said, true)];
  const last = nodes.at(-1);
  return isScalar(last) ? last.value : undefined;
}

/** The existing nodes along a path: of a member its key, and at the end its value. */
function* nodesOnWay(contents: unknown, said: string, endsWithValue = false): Generator<Node> {
  let node = contents;
  // A document is named by its kind, which is no key of it.
  const kind = isMap(node) ? asText(node.get("kind")) : "";
  let rest = kind !== "" && said.startsWith(`${kind}.`) ? said.slice(kind.length + 1) : said;
  while (rest !== "") {
    const [item = "", index] = /^\[(\d+)\]\.?/.exec(rest) ?? [];
    if (isSeq(node) && index !== undefined) {
      rest = rest.slice(item.length);
      node = node.items[Number(index)];
    } else if (isMap(node)) {
      // A key may have dots in it, such as the name of a registry.
      const here = rest;
      const fits = (key: string): boolean =>
        here === key || here.startsWith(`${key}.`) || here.startsWith(`${key}[`);
      const pairs = node.items.filter(({ key }) => isScalar(key) && fits(String(key.value)));
      const pair = pairs.sort((one, other) => String(other.key).length - String(one.key).length)[0];
      if (pair === undefined) return;
      rest = rest.slice(String((pair.key as Scalar).value).length).replace(/^\./, "");
      if (isNode(pair.key) && pair.key.range) yield pair.key;
      node = pair.value;
      if (!endsWithValue || rest !== "") continue;
    } else return;
    if (isNode(node) && node.range) yield node;
  }
}

/** The line of the operation (RFC 6902) that sets what is at a path. */
function lineOfOperation(
  contents: unknown,
  steps: string[],
  lineCounter: LineCounter,
): number | undefined {
  const places = (isSeq(contents) ? contents.items : []).flatMap((one) =>
    isMap(one) ? [one.get("path", true)] : [],
  );
  const path = steps.join("/");
  const place = places.findLast(
    (one) => isScalar(one) && path.startsWith(String(one.value).slice(1)),
  );
  return isNode(place) && place.range ? lineCounter.linePos(place.range[0]).line : undefined;
}

function lineOfWord(text: string, problem: string): number | undefined {
  const words = problem.split(/[\s",;:]+/).filter((word) => word.length > 3);
  // The longest one comes first, and a text is searched for the others only where it is not there.
  for (const word of words.sort((one, other) => other.length - one.length)) {
    const found = placesOfWords(text)(word);
    if (found !== "nowhere") return found;
  }
  return undefined;
}

/** Where each word stands that a text was searched for. The findings of a file have most words in common. */
const placesOfWords = rememberingTexts((text) =>
  remembering(
    (word: string) => (text.includes(word) ? lineWith(text, word) : "nowhere"),
    (word) => word,
  ),
);

/** The first line, from 1, that has a word and is no comment. */
function lineWith(text: string, word: string): number | undefined {
  if (word.startsWith("#")) return undefined;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at)) {
    const begin = text.lastIndexOf("\n", at) + 1;
    if (!text.slice(begin, at).trimStart().startsWith("#"))
      return text.slice(0, begin).split("\n").length;
    // The rest of the line is the same comment, and may have the word a hundred thousand times.
    at = text.indexOf("\n", at);
    if (at < 0) return undefined;
  }
  return undefined;
}

/** Where each line of a file stands, without its indentation. All patches of a file are looked for in it. */
const placesOfLines = rememberingTexts((text): ReadonlyMap<string, number[]> => {
  const at = new Map<string, number[]>();
  text.split("\n").forEach((line, index) => {
    const places = at.get(line.trim());
    if (places === undefined) at.set(line.trim(), [index]);
    else if (places.length < mostPlaces) places.push(index);
  });
  return at;
});

/** Places of one line that are looked at: a file may consist of one line many times. */
const mostPlaces = 50;

/**
 * The line of a file in which a text begins that the file has as a block: there most of its lines follow each other.
 * Lines that stand in the file again and again tell nothing, unless there are no others.
 */
export function lineOfText(whole: string, text: string): number {
  const at = placesOfLines(whole);
  const lines = text
    .split("\n")
    .map((line) => (line.trim() === "" ? [] : (at.get(line.trim()) ?? [])));
  const isTelling = lines.some((places) => places.length > 0 && places.length < mostPlaces);
  const counts = new Map<number, number>();
  lines.forEach((places, index) => {
    for (const place of isTelling && places.length === mostPlaces ? [] : places)
      if (place >= index) counts.set(place - index, (counts.get(place - index) ?? 0) + 1);
  });
  let [best, most] = [0, 0];
  for (const [place, count] of counts)
    if (count > most || (count === most && place < best)) [best, most] = [place, count];
  return best + 1;
}

/** Whether a file has a line of a text: one that stands in it as a block is indented there. */
export function hasLineOf(whole: string, text: string): boolean {
  const at = placesOfLines(whole);
  return text.split("\n").some((line) => line.trim() !== "" && at.has(line.trim()));
}
