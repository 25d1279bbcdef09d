import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";

/** A text that findings are about, and where it begins. */
export interface Piece {
  file: string;
  /** Line of the file in which the text begins, from 1. */
  line: number;
  text: string;
}

/** The line of a piece that a finding is about: of the path that its problem begins with, else of the longest word that it shares. */
export function lineIn({ text, line }: Piece, problem: string): number {
  return line - 1 + (lineOfPath(text, problem.split(" ")[0]!) ?? lineOfWord(text, problem) ?? 1);
}

function lineOfPath(text: string, said: string): number | undefined {
  if (!/^[a-z]\w*(?:[.[]|$)/i.test(said)) return undefined;
  const steps = said.split(/[.[\]]+/).filter((step) => step !== "");
  for (const part of text.split(/^---\s*$/m)) {
    const lineCounter = new LineCounter();
    const document = parseDocument(part, { lineCounter, logLevel: "silent" });
    const before = text.slice(0, text.indexOf(part)).split("\n").length - 1;
    let found: number | undefined;
    let node: unknown = document.contents;
    for (const step of steps) {
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step);
        if (pair === undefined) break;
        found = lineCounter.linePos((pair.key as { range: [number] }).range[0]).line;
        node = pair.value;
      } else if (isSeq(node)) {
        node = node.items[Number(step)];
        if (isNode(node) && node.range) found = lineCounter.linePos(node.range[0]).line;
      }
    }
    if (found !== undefined) return before + found;
  }
  return undefined;
}

function lineOfWord(text: string, problem: string): number | undefined {
  const words = problem.split(/[\s",;:]+/).filter((word) => word.length > 3 && text.includes(word));
  const [word] = words.sort((one, other) => other.length - one.length);
  const at =
    word === undefined ? -1 : text.split("\n").findIndex((line) => line.includes(word) && !line.trim().startsWith("#"));
  return at < 0 ? undefined : at + 1;
}

/** The line of a file in which a text begins that the file has as a block: there most of its lines follow each other. */
export function lineOfText(whole: string, text: string): number {
  const [lines, wanted] = [whole, text].map((one) => one.split("\n").map((line) => line.trim()));
  const same = (at: number): number =>
    wanted!.filter((line, index) => line !== "" && lines![at + index] === line).length;
  const best = lines!.map((_, at) => same(at)).reduce((most, count, at, all) => (count > all[most]! ? at : most), 0);
  return best + 1;
}
