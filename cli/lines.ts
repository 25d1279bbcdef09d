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

/** A text about which there may be findings, with its place in a file. */
export interface Piece {
  file: string;
  /** Line of the file in which the text begins, from 1. */
  line: number;
  text: string;
  /** A part of a configuration with the same meaning, if `text` has another form. */
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
 * The line of a piece to which a finding refers. It has the path at the beginning of the finding's problem, or the
 * longest word of the problem that the piece contains. If there is none, it has one of some other words.
 */
export const lineIn = ({ text, line }: Piece, problem: string, others = ""): number =>
  line -
  1 +
  (lineOfPath(text, problem.split(" ")[0]!) ??
    lineOfWord(text, problem) ??
    lineOfWord(text, others) ??
    1);

/** A text's documents, and the beginnings of its lines. They are kept, since all findings of a file need them. */
const parsed = rememberingTexts((text): Documents =>
  boundedDocuments(text, {}, boundsOfFile(text)),
);

/** The lines of a text. They are kept, since each finding of a file needs them. */
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

/** The existing nodes along a path: the keys of members, and the value at the end. */
function* nodesOnWay(contents: unknown, said: string, endsWithValue = false): Generator<Node> {
  let node = contents;
  // The first step may be the kind of the document, which is no key in it.
  const kind = isMap(node) ? asText(node.get("kind")) : "";
  let rest = kind !== "" && said.startsWith(`${kind}.`) ? said.slice(kind.length + 1) : said;
  while (rest !== "") {
    const [item = "", index] = /^\[(\d+)\]\.?/.exec(rest) ?? [];
    if (isSeq(node) && index !== undefined) {
      rest = rest.slice(item.length);
      node = node.items[Number(index)];
    } else if (isMap(node)) {
      // A key may contain dots, as the name of a registry does.
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

/** The line of the operation (RFC 6902) that sets the value at a path. */
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
  // The longest word comes first. Further words are searched only if the text lacks it.
  for (const word of words.sort((one, other) => other.length - one.length)) {
    const found = placesOfWords(text)(word);
    if (found !== "nowhere") return found;
  }
  return undefined;
}

/** Lines of the words for which a text was already searched, since the findings of a file share most words. */
const placesOfWords = rememberingTexts((text) =>
  remembering(
    (word: string) => (text.includes(word) ? lineWith(text, word) : "nowhere"),
    (word) => word,
  ),
);

/** Number (from 1) of the first line that contains a word and is no comment. */
function lineWith(text: string, word: string): number | undefined {
  if (word.startsWith("#")) return undefined;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at)) {
    const begin = text.lastIndexOf("\n", at) + 1;
    if (!text.slice(begin, at).trimStart().startsWith("#"))
      return text.slice(0, begin).split("\n").length;
    // The rest of the line is the same comment, and may contain the word a hundred thousand times.
    at = text.indexOf("\n", at);
    if (at < 0) return undefined;
  }
  return undefined;
}

/**
 * Numbers of a file's lines, by their text without indentation. They are kept, since each patch of the file is searched
 * in them.
 */
const placesOfLines = rememberingTexts((text): ReadonlyMap<string, number[]> => {
  const at = new Map<string, number[]>();
  text.split("\n").forEach((line, index) => {
    const places = at.get(line.trim());
    if (places === undefined) at.set(line.trim(), [index]);
    else if (places.length < mostPlaces) places.push(index);
  });
  return at;
});

/** The largest number of places that are compared for one line: a file may repeat the same line many times. */
const mostPlaces = 50;

/**
 * The line of a file at which a text begins that the file contains as a block. It is the place where most of the text's
 * lines follow each other. Lines that the file repeats often are ignored, unless the text has no others.
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

/** Whether a file contains a line of a text. The indentation is ignored, since a file indents a block. */
export function hasLineOf(whole: string, text: string): boolean {
  const at = placesOfLines(whole);
  return text.split("\n").some((line) => line.trim() !== "" && at.has(line.trim()));
}
