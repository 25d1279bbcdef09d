import { type AST, RegExpParser } from "@eslint-community/regexpp";

/**
 * Counts the steps that a backtracking matcher needs to find a regular expression in a text. V8's matcher has no
 * counter, and time would depend on the computer. An upper limit of repetitions counts as at most
 * `maxRepetitions`, so that short texts already show how the steps grow.
 */
export class CountingRegExp {
  private readonly matchPattern: Matcher;
  private steps = 0;
  private text = "";

  constructor(
    source: string,
    private readonly flags: string,
  ) {
    this.matchPattern = this.alternatives(patternOf(source, flags).alternatives, false);
  }

  /**
   * Number of steps of a search through the whole text. It begins at each position, as `replaceAll` does, or `test`
   * without a match.
   */
  stepsIn(text: string): number {
    this.steps = 0;
    this.text = text;
    try {
      this.search(text);
    } catch (error) {
      if (error instanceof TooManySteps) return Infinity;
      throw error;
    }
    return this.steps;
  }

  private search(text: string): void {
    for (let position = 0; position <= text.length;) {
      let end = -1;
      const matched = this.matchPattern(position, (matchEnd) => {
        end = matchEnd;
        return true;
      });
      if (this.flags.includes("y") && !matched) break;
      position = matched && end > position ? end : position + 1;
    }
  }

  private alternatives(list: AST.Alternative[], backwards: boolean): Matcher {
    const matchers = list.map((alternative) => this.sequence(alternative.elements, backwards));
    return (position, next) => matchers.some((match) => match(position, next));
  }

  private sequence(elements: AST.Element[], backwards: boolean): Matcher {
    const ordered = backwards ? elements.toReversed() : elements;
    return ordered
      .map((element) => this.element(element, backwards))
      .reduceRight<Matcher>(
        (rest, match) => (position, next) => match(position, (end) => rest(end, next)),
        (position, next) => next(position),
      );
  }

  private element(element: AST.Element, backwards: boolean): Matcher {
    switch (element.type) {
      case "Group":
      case "CapturingGroup":
        return this.alternatives(element.alternatives, backwards);
      case "Quantifier":
        return this.repetition(element, backwards);
      case "Assertion":
        return this.assertion(element);
      case "Backreference":
        return (position, next) => next(position);
      default: {
        const matches = characterTest(element, this.flags);
        return (position, next) => {
          if (++this.steps > maxSteps) throw new TooManySteps();
          const character = this.text[backwards ? position - 1 : position];
          return (
            character !== undefined &&
            matches(character) &&
            next(backwards ? position - 1 : position + 1)
          );
        };
      }
    }
  }

  private repetition({ element, min, max, greedy }: AST.Quantifier, backwards: boolean): Matcher {
    const matchOnce = this.element(element, backwards);
    const minCount = Math.min(min, maxRepetitions);
    const maxCount = max === Infinity ? Infinity : Math.min(max, maxRepetitions);
    const matchFrom = (position: number, count: number, next: Continuation): boolean => {
      const matchMore = (): boolean =>
        count < maxCount &&
        matchOnce(
          position,
          (end) => (end !== position || count < minCount) && matchFrom(end, count + 1, next),
        );
      if (count < minCount) return matchMore();
      return greedy ? matchMore() || next(position) : next(position) || matchMore();
    };
    return (position, next) => matchFrom(position, 0, next);
  }

  private assertion(element: AST.Assertion): Matcher {
    const isWord = (position: number): boolean => /\w/.test(this.text[position] ?? "");
    const isMultiline = this.flags.includes("m");
    switch (element.kind) {
      case "start":
        return (position, next) =>
          (position === 0 || (isMultiline && this.text[position - 1] === "\n")) && next(position);
      case "end":
        return (position, next) =>
          (position === this.text.length || (isMultiline && this.text[position] === "\n")) &&
          next(position);
      case "word":
        return (position, next) =>
          (isWord(position) !== isWord(position - 1)) !== element.negate && next(position);
      default: {
        const matchInner = this.alternatives(element.alternatives, element.kind === "lookbehind");
        return (position, next) =>
          matchInner(position, () => true) !== element.negate && next(position);
      }
    }
  }
}

/** More steps than a linear expression needs for texts of a few hundred characters. */
const maxSteps = 400_000;

/** Ends the count of an expression that may never finish. */
class TooManySteps extends Error {}

/** Matches the rest of the expression from a position. */
type Continuation = (position: number) => boolean;

/** Matches a part of the expression at a position, then the rest. */
type Matcher = (position: number, next: Continuation) => boolean;

/** Upper limit of repetitions, far less than the length of the texts. */
const maxRepetitions = 8;

const patternOf = (source: string, flags: string): AST.Pattern =>
  new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.includes("u") });

type CharacterElement = Exclude<
  AST.Element,
  AST.Group | AST.CapturingGroup | AST.Quantifier | AST.Assertion | AST.Backreference
>;

/** Returns a function that tells whether an element matches a character. */
function characterTest(element: CharacterElement, flags: string): (character: string) => boolean {
  const expression = new RegExp(`^(?:${element.raw})$`, flags.replace(/[gym]/g, ""));
  const results = new Map<string, boolean>();
  return (character) => {
    let matches = results.get(character);
    if (matches === undefined) results.set(character, (matches = expression.test(character)));
    return matches;
  };
}

/** Characters that represent a character class: some of each kind that occurs in texts. */
const sampleCharacters = [..."a0 -./:=\"'\\${([<@,\n"];

/**
 * Texts that make an expression backtrack as often as possible: the text before a repetition, then what it repeats
 * many times, and never the end.
 */
export function hostileTexts(source: string, flags: string, length: number): string[] {
  const repeatedParts = new Set<string>();
  const prefixes = new Set<string>([""]);
  const samplesOf = (element: AST.Element): string[] => {
    switch (element.type) {
      case "Group":
      case "CapturingGroup":
        return element.alternatives.map(({ elements }) =>
          elements.map((part) => samplesOf(part)[0] ?? "").join(""),
        );
      case "Quantifier":
        return samplesOf(element.element).map((sample) =>
          sample.repeat(Math.max(1, Math.min(element.min, maxRepetitions))),
        );
      case "Assertion":
      case "Backreference":
        return [""];
      default: {
        const candidates =
          element.type === "Character" ? [String.fromCodePoint(element.value)] : sampleCharacters;
        const matches = characterTest(element, flags);
        const namedCharacters =
          element.type === "CharacterClass"
            ? [...element.raw].filter((character) => matches(character))
            : [];
        const samples = [...new Set([...candidates, ...namedCharacters])].filter((character) =>
          matches(character),
        );
        return samples.length > 0 ? samples.slice(0, 12) : [""];
      }
    }
  };
  const visit = (alternatives: AST.Alternative[], prefix: string): void => {
    for (const { elements } of alternatives) {
      let currentPrefix = prefix;
      for (const element of elements) {
        prefixes.add(currentPrefix);
        if (element.type === "Quantifier") {
          for (const sample of samplesOf(element)) if (sample !== "") repeatedParts.add(sample);
          const { element: inner } = element;
          if (inner.type === "Group" || inner.type === "CapturingGroup")
            visit(inner.alternatives, currentPrefix);
        }
        if (element.type === "Group" || element.type === "CapturingGroup")
          visit(element.alternatives, currentPrefix);
        if (element.type === "Assertion" && "alternatives" in element)
          visit(element.alternatives, currentPrefix);
        currentPrefix += samplesOf(element)[0] ?? "";
      }
      prefixes.add(currentPrefix);
    }
  };
  visit(patternOf(source, flags).alternatives, "");
  const repeatedTo = (text: string, size: number): string =>
    text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const texts = new Set<string>();
  for (const prefix of prefixes) {
    if (prefix !== "") texts.add(repeatedTo(prefix, length));
    for (const part of repeatedParts) {
      texts.add(`${prefix}${repeatedTo(part, length)}\u0001`);
      if (prefix !== "") texts.add(repeatedTo(`${prefix}${part}`, length));
    }
  }
  return [...texts];
}
