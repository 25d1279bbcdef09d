import { renewCards } from "./renew-cards";
import { renewReleases } from "./renew-releases";

const usage = `Renews the tables of facts in components/recipe/facts/data. Look at the difference before you commit it.

Usage: npm run facts -- cards [FILE or URL] | releases [URL]

  releases  drivers and toolkit of Talos releases that the tables do not have, from an Image Factory;
            default https://factory.talos.dev
  cards     every card of NVIDIA's by its chip, from a list of PCI IDs; default https://pci-ids.ucw.cz/v2.2/pci.ids
`;

/** Renews what the arguments name; gives the exit status. */
async function main([what, from, ...others]: readonly string[]): Promise<number> {
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
