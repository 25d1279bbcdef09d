import { patchFindings } from "../../components/recipe/machine/patch-findings";
import { talosDocuments } from "../../components/recipe/rules/yaml";
import { rightPatches } from "../../tests/recipe/checks/patches/right";
import { measure } from "../measured";

// `patches.ts judge|read TIMES`: checks patches that Talos accepts, already read, or reads their text.

const texts = rightPatches.map(({ patch }) => patch);
// The reader caches texts, so each reading gets a different text.
const readPatches = (reading: number): void =>
  texts.forEach((text) => void talosDocuments(`${text}\n# reading ${reading}`));

const documents = rightPatches.map(({ talosMinor = 12, patch }) => ({
  minor: talosMinor,
  documents: talosDocuments(patch),
}));
const judgePatches = (): void =>
  documents.forEach((patch) => {
    const flaws = patchFindings(patch.documents, { minor: patch.minor, isKnown: true });
    if (flaws.length > 0)
      throw new Error(
        `a patch that Talos takes has the flaw ${flaws[0]!.path} ${flaws[0]!.problem}`,
      );
  });

function main(which: string, times: number): void {
  const work = which === "judge" ? judgePatches : readPatches;
  work(times); // compiles it
  void measure(() => {
    for (let time = 0; time < times; time++) work(time);
  });
}

main(process.argv[2] ?? "", Number(process.argv[3]));
