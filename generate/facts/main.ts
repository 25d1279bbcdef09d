import { recordOperator } from "./record-operator";
import { renewAll } from "./renew-all";
import { renewCards } from "./renew-cards";
import { newerThanTables, renewImages } from "./renew-images";
import { renewReleases } from "./renew-releases";

const usage = `Renews the tables of facts in components/recipe/facts/data and lab/charts/facts. Look at the difference before you commit it.

Usage: npm run facts [-- cards [FILE or URL] | releases [URL] | images | newer | operator HELM RELEASE=FOLDER …]

Without an argument: releases, cards, images and newer, one after the other. A source that does not answer leaves its table as it is.

  releases  drivers and toolkit of Talos releases that the tables do not have, from an Image Factory;
            default https://factory.talos.dev
  cards     every card of NVIDIA's by its chip, from a list of PCI IDs; default https://pci-ids.ucw.cz/v2.2/pci.ids
  images    the default images of vLLM, LiteLLM and Ollama, where a newer release is on PyPI or GitHub and its image is served
  newer     names releases of charts and of CUDA that the tables do not have; a person must read their release notes
  operator  objects that the GPU Operator's chart renders, for the lab's own chart: needs a Helm program and, for each release
            of the table and each new one (v26.3.3), its folder deployments/gpu-operator
`;

/** Renews the tables that the arguments name, and returns the exit status. */
async function main([table, source, ...otherArgs]: readonly string[]): Promise<number> {
  const sources = otherArgs.length > 0 && otherArgs.every((arg) => /^v[\d.]+=./.test(arg));
  if (table === "operator" && source !== undefined && sources) {
    recordOperator(source, otherArgs);
    return 0;
  }
  if (table === undefined) {
    const { lines, failed, renewalCount } = await renewAll();
    printLines(lines);
    return failed === renewalCount ? 1 : 0;
  }
  const renew = Object.hasOwn(renewals, table) ? renewals[table] : undefined;
  if (renew === undefined || otherArgs.length > 0) {
    (table === "--help" ? process.stdout : process.stderr).write(usage);
    return table === "--help" ? 0 : 2;
  }
  printLines(await renew(source));
  return 0;
}

const renewals: Record<string, (source?: string) => Promise<string[]>> = {
  cards: async (source) => [await renewCards(source)],
  releases: (source) => renewReleases(source),
  images: () => renewImages(),
  newer: () => newerThanTables(),
};

const printLines = (lines: readonly string[]): void =>
  void process.stdout.write(`${lines.length === 0 ? "nothing new" : lines.join("\n")}\n`);

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  },
);
