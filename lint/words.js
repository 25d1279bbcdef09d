/**
 * Words and phrases that make a reader stop, each with what to write instead. A pattern sees text whose code, links
 * and line breaks are masked (`prose.js`), so a space in it stands for any white space.
 *
 * @typedef {{ name: string; pattern: string; better: string; bad: string[]; good: string[] }} Phrase
 */

/** Beginnings of an object: after "has not", they show that "not" stands where "no" belongs. */
const object =
  "(?:an?|the|any|all|its|their|this|that|these|those|what|one|it|them|every|each|both|enough|more)";
const verb =
  "(?:agrees?|allows?|answers?|asks?|calls?|changes?|comes?|depends?|ends?|exists?|fails?|finds?|fits?|gets?|gives?|goes|helps?|holds?|knows?|likes?|loads?|makes?|matches|matters?|means?|names?|needs?|reads?|runs?|says?|sees?|shows?|starts?|takes?|tells?|waits?|wants?|works?|writes?)";

/** @type {Phrase[]} */
const phrases = [
  {
    name: "is told",
    pattern: "(?:is|are|was|were|be|been|being|gets?|got) told",
    better: 'name who reports it: "the plan reports", "asks it to"',
    bad: ["What failed is told once.", "the user was told"],
    good: ["The doctor reports each failure once."],
  },
  {
    name: "is said",
    pattern: "(?:is|are|was|were|be|been|being) (?:not |never )?said",
    better: 'name who reports it: "a note names", "the message says"; of a field: "is not set"',
    bad: ["what cannot be read is said", "is not said, and the chart's own value is true"],
    good: ["The message says what cannot be read."],
  },
  {
    name: "tells of",
    pattern: "(?:tells?|told|telling) of",
    better: "reports, describes, names",
    bad: ["Talos tells of no error"],
    good: ["Talos reports no error", "It tells the user what to do."],
  },
  {
    name: "let pass",
    pattern: "(?:lets?|letting) (?:it |them |this |that |these |one |all )?pass",
    better: "accept, skip",
    bad: ["what is unknown is let pass", "The check lets it pass."],
    good: ["The check accepts it.", "lets traffic pass through"].slice(0, 1),
  },
  {
    name: "let be",
    pattern: "(?:lets?|letting) (?:it |them |alone )?be(?! \\w)",
    better: "leave unchanged, skip",
    bad: ["Foreign taints are let be."],
    good: ["Foreign taints stay."],
  },
  {
    name: "shall",
    pattern: "shall",
    better: "should, must, or the plain future",
    bad: ["the node that it shall be"],
    good: ["the node that it should be"],
  },
  {
    name: "somebody",
    pattern: "(?:somebody|nobody|whoever|whomever|no one)(?:'s)?",
    better: "name the actor: the user, another tool, no test, no pod",
    bad: ["Somebody else installed it.", "nobody's labels"],
    good: ["Another tool installed it."],
  },
  {
    name: "beside",
    pattern: "beside(?!/)",
    better: '"with" or "together with"; "next to" for a place',
    bad: ["the file beside it", "A plugin runs beside the operator."],
    good: ["the file next to it", "docs/beside/talhelper.md", "Besides, it is slow."],
  },
  {
    name: "of which",
    pattern:
      "(?<!(?:all|some|each|most|both|many|none|one|two|any|last|first|rest) )of (?:which|whom)(?! (?:cluster|file|item|kind|machine|node|release|stack))",
    better: 'two sentences, "whose" or "that"',
    bad: ["a card of which the tables know no power"],
    good: ["a card without a power in the tables", "five taints, two of which stay"],
  },
  {
    name: "of it alone",
    pattern: "of (?:it|them|that|this|these|those) alone",
    better: "only",
    bad: ["the labels of it alone"],
    good: ["only its labels"],
  },
  {
    name: "what offers",
    pattern: "what(?:ever)? offers",
    better: "GPU provider, or another single noun",
    bad: ["what offers the GPUs is missing"],
    good: ["the GPU provider is missing"],
  },
  {
    name: "for ever",
    pattern: "for ever",
    better: "forever, or a condition that ends it",
    bad: ["It waits for ever."],
    good: ["It waits forever."],
  },
  {
    name: "in silence",
    pattern: "in (?:silence|vain)",
    better: "silently; in vain: without effect",
    bad: ["Talos ignores it in silence."],
    good: ["Talos silently ignores it."],
  },
  {
    name: "for good",
    pattern: "for good(?! \\w)",
    better: "permanently, finally",
    bad: ["It is gone for good."],
    good: ["It is permanently gone.", "for good reasons"],
  },
  {
    name: "no more",
    pattern:
      "(?:is|are|was|were|it|them|there|exists?|runs?|needs?|builds?) no more(?! than| \\w+s\\b)",
    better: "no longer",
    bad: ["Sidero builds it no more."],
    good: ["Sidero no longer builds it.", "It takes no more than a minute."],
  },
  {
    name: "has not",
    pattern: `(?:has|have|had) (?:(?:it|them) )?not(?= ${object}(?![\\w-])|[.,;:)])`,
    better: '"lacks", "has no", "does not have"',
    bad: ["a folder that Talos has not.", "It has not the extension.", "the image has it not."],
    good: ["a folder that Talos lacks.", "It has not ended yet.", "It has no extension."],
  },
  {
    name: "knows not",
    pattern: `${verb} (?:(?:it|them|him|this) )?not(?= ${object}(?![\\w-])|[.,;:)]|$)`,
    better: '"does not …"',
    bad: ["Talos knows it not.", "It needs not the label."],
    good: ["Talos does not know it.", "It needs no label.", "It says not to wait."],
  },
  {
    name: "nor does",
    pattern: "nor (?:does|do|did|is|are|was|has|have|can|could|will|would|may|must)",
    better: '"and … not", subject first',
    bad: ["It has no card, nor does it ask for one."],
    good: ["It has no card and does not ask for one."],
  },
  {
    name: "of before",
    pattern: "of (?:before|former days|late)(?! \\w)",
    better: "previous, earlier",
    bad: ["It goes back to the image of before."],
    good: ["It goes back to the previous image."],
  },
  {
    name: "bears",
    pattern: "(?:bears?|bearing|borne)",
    better: "has, carries, allows",
    bad: ["a node that bears our mark"],
    good: ["a node that has our annotation"],
  },
  {
    name: "comes again",
    pattern: "where (?:it|they) comes? again",
    better: '"if it happens again"',
    bad: ["Where it comes again, reseat the card."],
    good: ["If it happens again, reseat the card."],
  },
  {
    name: "ahead",
    pattern:
      "(?:(?:machines?|those|workers?|pools?) ahead(?! of (?:time|schedule))|(?:goes?|going|went|gone) ahead)",
    better: '"the machines of upgrade.first", "is upgraded first"',
    bad: ["The operator comes after the machines ahead.", "One machine goes ahead."],
    good: ["The operator comes after the machines of upgrade.first."],
  },
  {
    name: "another image",
    pattern: "another (?:image(?! Factory)|configuration)(?! (?:\\([^)]*\\) )?than)",
    better: 'what it differs from: "a changed image", "an image that this stack does not want"',
    bad: ["It runs another image.", "has another configuration staged"],
    good: [
      "It runs another image than v1.12.6.",
      "It runs an image that differs from the stack's.",
      "name another Image Factory",
    ],
  },
  {
    name: "mend",
    pattern: "mend(?:s|ed|ing)?",
    better: "fix, correct, repair",
    bad: ["the user's to mend"],
    good: ["The user must correct it."],
  },
  {
    name: "not known here",
    pattern: "(?:is|are) not known here",
    better: '"is unknown", "is not in the tables"',
    bad: ["whether the card takes it is not known here"],
    good: ["It is unknown whether the card takes it."],
  },
  {
    name: "old words",
    pattern:
      "(?:anew|thereof|whereof|wherein|therein|thereby|hence|hitherto|lest|nought|naught|save for|ere)",
    better: "again, in it, so that … not, except",
    bad: ["It reads the file anew."],
    good: ["It reads the file again."],
  },
];

module.exports = { phrases };
