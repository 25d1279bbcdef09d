import type { ExternalMissingSpec } from "../spec/index";
import { chartNamed, isOfOthers, releaseIn } from "./chart";
import { none, placeOf, textAt, valuesAt, type Doc, type Values } from "./document";
import { asText, isMapping, listAt, listOf } from "../mapping";
import { parameterOf, release, valuesOf, type OutsideRelease, type Said } from "./release";

/** Fields of a release in an item of a list. */
type Item = Pick<Said, "name" | "namespace"> & { parts: Values[] };

/**
 * Lists with releases in a file: the tool that reads the list, the field with the chart's name, and a reader of an
 * item.
 */
const lists: Record<
  string,
  {
    by: OutsideRelease["by"];
    chart: string;
    read: (one: Record<string, unknown>, at: string[], from: From) => Item;
  }
> = {
  // Inline values override those of the files, unless `valuesMerge` changes this; no known file uses it.
  helmCharts: {
    by: "kustomize",
    chart: "name",
    read: (one, at, { doc, file }) => ({
      name: textAt(one, "releaseName") ?? textAt(one, "name"),
      namespace: textAt(one, "namespace") ?? textAt(doc.root, "namespace"),
      parts: [
        ...[one["valuesFile"], ...listOf(one["additionalValuesFiles"])].flatMap((each) =>
          each === undefined ? [] : [file(each)],
        ),
        valuesAt(doc, [...at, "valuesInline"]) ?? none,
      ],
    }),
  },
  // The parent chart has the dependency's values under its name or alias.
  dependencies: {
    by: "a chart",
    chart: "name",
    read: (one, _, { file }) => ({
      parts: [file("values.yaml", [textAt(one, "alias") ?? textAt(one, "name") ?? ""])],
    }),
  },
  releases: {
    by: "helmfile",
    chart: "chart",
    read: (one, at, { doc, file, missing }) => {
      missing.push(
        ...listOf(one["secrets"]).map((name) => ({ kind: "Secret", name: asText(name) })),
      );
      return {
        name: textAt(one, "name"),
        namespace: textAt(one, "namespace"),
        parts: [
          ...listOf(one["values"]).map((each, index) =>
            isMapping(each)
              ? (valuesAt(doc, [...at, "values", String(index)]) ?? none)
              : each
                ? file(each)
                : none,
          ),
          ...listAt(one, "set").map((each, index) =>
            parameterOf(each, placeOf(doc, [...at, "set", String(index)])),
          ),
        ],
      };
    },
  },
};

/** Context of an item: its document, a lookup of the files that it names, and a list for missing files. */
interface From {
  doc: Doc;
  file: (name: unknown, path?: string[]) => Values;
  missing: ExternalMissingSpec[];
}

/** The releases in a document's lists: of kustomize, of helmfile, and of a user's own chart. */
export function ofLists(doc: Doc, docs: Doc[]): OutsideRelease[] {
  const isChart = /(?:^|\/)Chart\.yaml$/.test(doc.place.file);
  return Object.entries(lists).flatMap(([list, { by, chart: key, read }]) =>
    listAt(doc.root, list).flatMap((one, index) => {
      const from = textAt(one, "repo") ?? textAt(one, "repository");
      const chart = isOfOthers(from) ? undefined : chartNamed(textAt(one, key));
      if (chart === undefined || isChart !== (by === "a chart") || one["installed"] === false)
        return [];
      const at = [list, String(index)];
      const missing: ExternalMissingSpec[] = [];
      const file = (name: unknown, path?: string[]): Values =>
        valuesOf(asText(name), doc, docs, missing, path);
      const { parts, ...said } = read(one, at, { doc, file, missing });
      const version = releaseIn(textAt(one, "version"), chart);
      const place = placeOf(doc, at);
      return release(
        { ...said, chart, by, version, place, missing },
        parts,
        placeOf(doc, [...at, "version"]),
      );
    }),
  );
}
