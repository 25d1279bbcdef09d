import type { ExternalMissingSpec } from "../spec/index";
import { chartNamed, isOfOthers, releaseIn } from "./chart";
import { noValues, placeOf, textAt, valuesAt, type Doc, type Values } from "./document";
import { asText, isMapping, listAt, listOf } from "../mapping";
import { parameterOf, release, valuesOf, type OutsideRelease, type ReleaseFields } from "./release";

/**
 * What an item of a list says about a release: its name, its namespace, and its values in the order in which Helm
 * merges them.
 */
type Item = Pick<ReleaseFields, "name" | "namespace"> & { parts: Values[] };

/**
 * Lists in a file whose items are releases, by the list's key. `by` is the tool that reads the list, `chart` the field
 * with the chart's name, and `read` reads an item.
 */
const lists: Record<
  string,
  {
    by: OutsideRelease["by"];
    chart: string;
    read: (entry: Record<string, unknown>, path: string[], context: ReadContext) => Item;
  }
> = {
  // Inline values override those of the files, unless `valuesMerge` changes this; no known file uses it.
  helmCharts: {
    by: "kustomize",
    chart: "name",
    read: (entry, path, { doc, file }) => ({
      name: textAt(entry, "releaseName") ?? textAt(entry, "name"),
      namespace: textAt(entry, "namespace") ?? textAt(doc.root, "namespace"),
      parts: [
        ...[entry["valuesFile"], ...listOf(entry["additionalValuesFiles"])].flatMap((valuesFile) =>
          valuesFile === undefined ? [] : [file(valuesFile)],
        ),
        valuesAt(doc, [...path, "valuesInline"]) ?? noValues,
      ],
    }),
  },
  // The parent chart has the dependency's values under its name or alias.
  dependencies: {
    by: "a chart",
    chart: "name",
    read: (entry, _, { file }) => ({
      parts: [file("values.yaml", [textAt(entry, "alias") ?? textAt(entry, "name") ?? ""])],
    }),
  },
  releases: {
    by: "helmfile",
    chart: "chart",
    read: (entry, path, { doc, file, missing }) => {
      missing.push(
        ...listOf(entry["secrets"]).map((name) => ({ kind: "Secret", name: asText(name) })),
      );
      return {
        name: textAt(entry, "name"),
        namespace: textAt(entry, "namespace"),
        parts: [
          ...listOf(entry["values"]).map((values, index) =>
            isMapping(values)
              ? (valuesAt(doc, [...path, "values", String(index)]) ?? noValues)
              : values
                ? file(values)
                : noValues,
          ),
          ...listAt(entry, "set").map((parameter, index) =>
            parameterOf(parameter, placeOf(doc, [...path, "set", String(index)])),
          ),
        ],
      };
    },
  },
};

/**
 * What the reader of an item needs: the item's document, a function that returns the values in a named file, and the
 * list of missing files.
 */
interface ReadContext {
  doc: Doc;
  file: (name: unknown, path?: string[]) => Values;
  missing: ExternalMissingSpec[];
}

/** The releases in the lists of a kustomization, of a helmfile, or of the Chart.yaml of a user's own chart. */
export function releasesOfLists(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const isChart = /(?:^|\/)Chart\.yaml$/.test(doc.place.file);
  return Object.entries(lists).flatMap(([list, { by, chart: key, read }]) =>
    listAt(doc.root, list).flatMap((entry, index) => {
      const repository = textAt(entry, "repo") ?? textAt(entry, "repository");
      const chart = isOfOthers(repository) ? undefined : chartNamed(textAt(entry, key));
      if (chart === undefined || isChart !== (by === "a chart") || entry["installed"] === false)
        return [];
      const path = [list, String(index)];
      const missing: ExternalMissingSpec[] = [];
      const file = (name: unknown, path?: string[]): Values =>
        valuesOf(asText(name), doc, docs, missing, path);
      const { parts, ...fields } = read(entry, path, { doc, file, missing });
      const version = releaseIn(textAt(entry, "version"), chart);
      const place = placeOf(doc, path);
      return release(
        { ...fields, chart, by, version, place, missing },
        parts,
        placeOf(doc, [...path, "version"]),
      );
    }),
  );
}
