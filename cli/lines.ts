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
  /** The same content in the form of a machine configuration, if `text` has another form, such as a JSON patch. */
  part?: string;
}

/** The piece at a path of a piece's document. */
export function pieceAt(whole: Piece, document: Document, path: (string | number)[]): Piece {
  const node = document.getIn(path, true);
  if (!isNode(node) || !node.range) return whole;
  const [start, end] = node.range;
  const linesBefore = whole.text.slice(0, start).split("\n");
  return {
    ...whole,
    line: whole.line + linesBefore.length - 1,
    text: " ".repeat(linesBefore.at(-1)!.length) + whole.text.slice(start, end),
  };
}

/**
 * The line of a piece to which a finding refers: the line of the path with which the finding's problem begins. If the
 * problem begins with no path, the function takes the longest word of the problem that the piece contains, and returns
 * this word's line. If the piece contains no word of the problem, the function does the same with `fallbackWords`. If
 * the piece contains none of these either, the function returns the first line.
 */
export const lineIn = ({ text, line }: Piece, problem: string, fallbackWords = ""): number =>
  line -
  1 +
  (lineOfPath(text, problem.split(" ")[0]!) ??
    lineOfWord(text, problem) ??
    lineOfWord(text, fallbackWords) ??
    1);

/** A text's documents, and the beginnings of its lines. The result is cached, since all findings of a file need it. */
const parsed = rememberingTexts((text): Documents =>
  boundedDocuments(text, {}, boundsOfFile(text)),
);

/** The lines of a text. The result is cached, since each finding of a file needs it. */
export const linesOf = rememberingTexts((text): readonly string[] => text.split("\n"));

function lineOfPath(text: string, path: string): number | undefined {
  if (!/^[a-z]\w*(?:[.[]|$)/i.test(path)) return undefined;
  const steps = path.split(/[.[\]]+/).filter((step) => step !== "");
  const { documents, lineCounter } = parsed(text);
  for (const document of documents) {
    let line = lineOfOperation(document.contents, steps, lineCounter);
    for (const node of nodesAlongPath(document.contents, path))
      line = lineCounter.linePos(node.range![0]).line;
    if (line !== undefined) return line;
  }
  return undefined;
}

/** Value at a path such as `machine.files[0].path` or `LinkConfig.mtu` in a document; undefined if there is none. */
export function valueAtPath(document: Document, path: string): unknown {
  const nodes = [...nodesAlongPath(document.contents, path, true)];
  const last = nodes.at(-1);
  return isScalar(last) ? last.value : undefined;
}

/** The existing nodes along a path: the keys of members, and the value at the end. */
function* nodesAlongPath(contents: unknown, path: string, endsWithValue = false): Generator<Node> {
  let node = contents;
  // The first step may be the kind of the document, which is no key in it.
  const kind = isMap(node) ? asText(node.get("kind")) : "";
  let remainingPath =
    kind !== "" && path.startsWith(`${kind}.`) ? path.slice(kind.length + 1) : path;
  while (remainingPath !== "") {
    const [item = "", index] = /^\[(\d+)\]\.?/.exec(remainingPath) ?? [];
    if (isSeq(node) && index !== undefined) {
      remainingPath = remainingPath.slice(item.length);
      node = node.items[Number(index)];
    } else if (isMap(node)) {
      // A key may contain dots, as the name of a registry does.
      const currentPath = remainingPath;
      const isOnPath = (key: string): boolean =>
        currentPath === key ||
        currentPath.startsWith(`${key}.`) ||
        currentPath.startsWith(`${key}[`);
      const pairs = node.items.filter(({ key }) => isScalar(key) && isOnPath(String(key.value)));
      const pair = pairs.sort((a, b) => String(b.key).length - String(a.key).length)[0];
      if (pair === undefined) return;
      remainingPath = remainingPath
        .slice(String((pair.key as Scalar).value).length)
        .replace(/^\./, "");
      if (isNode(pair.key) && pair.key.range) yield pair.key;
      node = pair.value;
      if (!endsWithValue || remainingPath !== "") continue;
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
  const places = (isSeq(contents) ? contents.items : []).flatMap((item) =>
    isMap(item) ? [item.get("path", true)] : [],
  );
  const path = steps.join("/");
  const place = places.findLast(
    (candidate) => isScalar(candidate) && path.startsWith(String(candidate.value).slice(1)),
  );
  return isNode(place) && place.range ? lineCounter.linePos(place.range[0]).line : undefined;
}

function lineOfWord(text: string, problem: string): number | undefined {
  const words = problem.split(/[\s",;:]+/).filter((word) => word.length > 3);
  // The longest word comes first. Further words are searched only if the text lacks it.
  for (const word of words.sort((a, b) => b.length - a.length)) {
    const line = placesOfWords(text)(word);
    if (line !== "nowhere") return line;
  }
  return undefined;
}

/** The line of a word in a text. The result is cached, since the findings of a file share most words. */
const placesOfWords = rememberingTexts((text) =>
  remembering(
    (word: string) => (text.includes(word) ? lineWith(text, word) : "nowhere"),
    (word) => word,
  ),
);

/** Number (from 1) of the first line that contains a word and is no comment. */
function lineWith(text: string, word: string): number | undefined {
  if (word.startsWith("#")) return undefined;
  for (let position = text.indexOf(word); position >= 0; position = text.indexOf(word, position)) {
    const begin = text.lastIndexOf("\n", position) + 1;
    if (!text.slice(begin, position).trimStart().startsWith("#"))
      return text.slice(0, begin).split("\n").length;
    // The rest of the line is the same comment, and may contain the word a hundred thousand times.
    position = text.indexOf("\n", position);
    if (position < 0) return undefined;
  }
  return undefined;
}

/**
 * Indexes of a file's lines, by the lines' text without indentation. The result is cached, since each patch in the file
 * is searched in it.
 */
const placesOfLines = rememberingTexts((text): ReadonlyMap<string, number[]> => {
  const indexesByLine = new Map<string, number[]>();
  text.split("\n").forEach((line, index) => {
    const places = indexesByLine.get(line.trim());
    if (places === undefined) indexesByLine.set(line.trim(), [index]);
    else if (places.length < mostPlaces) places.push(index);
  });
  return indexesByLine;
});

/** The largest number of places that are kept for one line, because a file may repeat the same line many times. */
const mostPlaces = 50;

/**
 * The line of a file at which a text begins. The file contains the text as a block, perhaps indented. The function
 * returns the beginning for which most lines of text and file agree. If the text also has rarer lines, the function
 * ignores lines that the file repeats often.
 */
export function lineOfText(whole: string, text: string): number {
  const indexesByLine = placesOfLines(whole);
  const lines = text
    .split("\n")
    .map((line) => (line.trim() === "" ? [] : (indexesByLine.get(line.trim()) ?? [])));
  const hasRareLine = lines.some((places) => places.length > 0 && places.length < mostPlaces);
  const counts = new Map<number, number>();
  lines.forEach((places, index) => {
    for (const lineIndex of hasRareLine && places.length === mostPlaces ? [] : places)
      if (lineIndex >= index)
        counts.set(lineIndex - index, (counts.get(lineIndex - index) ?? 0) + 1);
  });
  let [bestOffset, mostMatches] = [0, 0];
  for (const [offset, count] of counts)
    if (count > mostMatches || (count === mostMatches && offset < bestOffset))
      [bestOffset, mostMatches] = [offset, count];
  return bestOffset + 1;
}

/** Whether a file contains a line of a text. The indentation is ignored, since a file indents a block. */
export function hasLineOf(whole: string, text: string): boolean {
  const indexesByLine = placesOfLines(whole);
  return text.split("\n").some((line) => line.trim() !== "" && indexesByLine.has(line.trim()));
}
