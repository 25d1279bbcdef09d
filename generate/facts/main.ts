import { recordOperator } from "./record-operator";
import { renewCards } from "./renew-cards";
import { renewReleases } from "./renew-releases";

const usage = `Renews the tables of facts in components/recipe/facts/data and lab/charts/facts. Look at the difference before you commit it.

Usage: npm run facts -- cards [FILE or URL] | releases [URL] | operator HELM RELEASE=FOLDER …

  releases  drivers and toolkit of Talos releases that the tables do not have, from an Image Factory;
            default https://factory.talos.dev
  cards     every card of NVIDIA's by its chip, from a list of PCI IDs; default https://pci-ids.ucw.cz/v2.2/pci.ids
  operator  what the GPU Operator's chart renders to, for the lab's own: with a Helm, of each release (v26.3.3) that the
            table has and of new ones its folder deployments/gpu-operator
`;

/** Renews what the arguments name; gives the exit status. */
async function main([what, from, ...others]: readonly string[]): Promise<number> {
  const sources = others.length > 0 && others.every((each) => /^v[\d.]+=./.test(each));
  if (what === "operator" && from !== undefined && sources) {
    recordOperator(from, others);
    return 0;
  }
  if ((what !== "cards" && what !== "releases") || others.length > 0) {
    (what === "--help" ? process.stdout : process.stderr).write(usage);
    return what === "--help" ? 0 : 2;
  }
  const lines = what === "cards" ? [await renewCards(from)] : await renewReleases(from);
  process.stdout.write(`${lines.length === 0 ? "nothing new" : lines.join("\n")}\n`);
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  },
);
