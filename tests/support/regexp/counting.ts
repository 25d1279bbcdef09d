import { type AST, RegExpParser } from "@eslint-community/regexpp";

/**
 * Counts the steps that a backtracking matcher needs to find a regular expression in a text. V8's matcher has no
 * counter, and time would depend on the computer. An upper limit of repetitions counts as at most `bound`, so that
 * short texts already show how the steps grow.
 */
export class CountingRegExp {
  private readonly find: Matcher;
  private steps = 0;
  private text = "";

  constructor(
    source: string,
    private readonly flags: string,
  ) {
    this.find = this.alternatives(patternOf(source, flags).alternatives, false);
  }

  /** Steps of a search from each place of the text, as `replaceAll` or a test that fails searches. */
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
    for (let at = 0; at <= text.length;) {
      let end = -1;
      const found = this.find(at, (to) => {
        end = to;
        return true;
      });
      if (this.flags.includes("y") && !found) break;
      at = found && end > at ? end : at + 1;
    }
  }

  private alternatives(all: AST.Alternative[], back: boolean): Matcher {
    const each = all.map((one) => this.sequence(one.elements, back));
    return (at, then) => each.some((match) => match(at, then));
  }

  private sequence(elements: AST.Element[], back: boolean): Matcher {
    const ordered = back ? elements.toReversed() : elements;
    return ordered
      .map((element) => this.element(element, back))
      .reduceRight<Matcher>(
        (rest, match) => (at, then) => match(at, (to) => rest(to, then)),
        (at, then) => then(at),
      );
  }

  private element(element: AST.Element, back: boolean): Matcher {
    switch (element.type) {
      case "Group":
      case "CapturingGroup":
        return this.alternatives(element.alternatives, back);
      case "Quantifier":
        return this.repetition(element, back);
      case "Assertion":
        return this.assertion(element);
      case "Backreference":
        return (at, then) => then(at);
      default: {
        const fits = tester(element, this.flags);
        return (at, then) => {
          if (++this.steps > mostSteps) throw new TooManySteps();
          const character = this.text[back ? at - 1 : at];
          return character !== undefined && fits(character) && then(back ? at - 1 : at + 1);
        };
      }
    }
  }

  private repetition({ element, min, max, greedy }: AST.Quantifier, back: boolean): Matcher {
    const one = this.element(element, back);
    const [least, most] = [
      Math.min(min, bound),
      max === Infinity ? Infinity : Math.min(max, bound),
    ];
    const go = (at: number, count: number, then: Then): boolean => {
      const more = (): boolean =>
        count < most && one(at, (to) => (to !== at || count < least) && go(to, count + 1, then));
      if (count < least) return more();
      return greedy ? more() || then(at) : then(at) || more();
    };
    return (at, then) => go(at, 0, then);
  }

  private assertion(element: AST.Assertion): Matcher {
    const isWord = (at: number): boolean => /\w/.test(this.text[at] ?? "");
    const isMultiline = this.flags.includes("m");
    switch (element.kind) {
      case "start":
        return (at, then) => (at === 0 || (isMultiline && this.text[at - 1] === "\n")) && then(at);
      case "end":
        return (at, then) =>
          (at === this.text.length || (isMultiline && this.text[at] === "\n")) && then(at);
      case "word":
        return (at, then) => (isWord(at) !== isWord(at - 1)) !== element.negate && then(at);
      default: {
        const inner = this.alternatives(element.alternatives, element.kind === "lookbehind");
        return (at, then) => inner(at, () => true) !== element.negate && then(at);
      }
    }
  }
}

/** More steps than a linear expression needs for texts of a few hundred characters. */
const mostSteps = 400_000;

/** Ends the count of an expression that may never finish. */
class TooManySteps extends Error {}

type Then = (at: number) => boolean;
type Matcher = (at: number, then: Then) => boolean;

/** Upper limit of repetitions, far less than the length of the texts. */
const bound = 8;

const patternOf = (source: string, flags: string): AST.Pattern =>
  new RegExpParser().parsePattern(source, 0, source.length, { unicode: flags.includes("u") });

type Single = Exclude<
  AST.Element,
  AST.Group | AST.CapturingGroup | AST.Quantifier | AST.Assertion | AST.Backreference
>;

/** Returns a function that tells whether an element matches a character. */
function tester(element: Single, flags: string): (character: string) => boolean {
  const expression = new RegExp(`^(?:${element.raw})$`, flags.replace(/[gym]/g, ""));
  const known = new Map<string, boolean>();
  return (character) => {
    let fits = known.get(character);
    if (fits === undefined) known.set(character, (fits = expression.test(character)));
    return fits;
  };
}

/** Characters that represent a character class: some of each kind that occurs in texts. */
const letters = [..."a0 -./:=\"'\\${([<@,\n"];

/**
 * Texts that make an expression backtrack as often as possible: the text before a repetition, then what it repeats
 * many times, and never the end.
 */
export function hostileTexts(source: string, flags: string, length: number): string[] {
  const pumps = new Set<string>();
  const heads = new Set<string>([""]);
  const sampleOf = (element: AST.Element): string[] => {
    switch (element.type) {
      case "Group":
      case "CapturingGroup":
        return element.alternatives.map(({ elements }) =>
          elements.map((one) => sampleOf(one)[0] ?? "").join(""),
        );
      case "Quantifier":
        return sampleOf(element.element).map((one) =>
          one.repeat(Math.max(1, Math.min(element.min, bound))),
        );
      case "Assertion":
      case "Backreference":
        return [""];
      default: {
        const own = element.type === "Character" ? [String.fromCodePoint(element.value)] : letters;
        const fits = tester(element, flags);
        const inside =
          element.type === "CharacterClass" ? [...element.raw].filter((one) => fits(one)) : [];
        const all = [...new Set([...own, ...inside])].filter((one) => fits(one));
        return all.length > 0 ? all.slice(0, 12) : [""];
      }
    }
  };
  const visit = (alternatives: AST.Alternative[], head: string): void => {
    for (const { elements } of alternatives) {
      let before = head;
      for (const element of elements) {
        heads.add(before);
        if (element.type === "Quantifier") {
          for (const one of sampleOf(element)) if (one !== "") pumps.add(one);
          const { element: inner } = element;
          if (inner.type === "Group" || inner.type === "CapturingGroup")
            visit(inner.alternatives, before);
        }
        if (element.type === "Group" || element.type === "CapturingGroup")
          visit(element.alternatives, before);
        if (element.type === "Assertion" && "alternatives" in element)
          visit(element.alternatives, before);
        before += sampleOf(element)[0] ?? "";
      }
      heads.add(before);
    }
  };
  visit(patternOf(source, flags).alternatives, "");
  const times = (text: string, size: number): string =>
    text.repeat(Math.ceil(size / text.length)).slice(0, size);
  const texts = new Set<string>();
  for (const head of heads) {
    if (head !== "") texts.add(times(head, length));
    for (const pump of pumps) {
      texts.add(`${head}${times(pump, length)}\u0001`);
      if (head !== "") texts.add(times(`${head}${pump}`, length));
    }
  }
  return [...texts];
}
