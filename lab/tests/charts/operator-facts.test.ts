import type { Manifest } from "../../../generate/facts/record-operator";
import { operatorFacts, recordedObjects } from "../../charts/facts";
import { render, describeWithHelm } from "./render";

// Compares the emulated chart with the record of the real one (generate/facts/record-operator.ts): every field of
// every object, with the default values and with many values set. Node Feature Discovery's objects come from the real
// subchart.

const releases = [
  ...new Set(operatorFacts.objects.flatMap(({ in: places }) => Object.keys(places))),
];
const cases = releases.flatMap((release) =>
  Object.keys(operatorFacts.variants).map((variant) => [release, variant] as const),
);

describeWithHelm("the emulated chart of the GPU Operator", () => {
  test.each(cases)(
    "in release %s with %s values, renders the real chart's objects",
    async (release, variant) => {
      const { code, error, objects } = await render(
        "gpu-operator",
        release,
        operatorFacts.variants[variant],
      );
      expect(error).toBe("");
      expect(code).toBe(0);
      const operatorObjects = objects.filter(
        ({ kind, metadata: { name } }) =>
          kind !== "CustomResourceDefinition" && !name.includes("node-feature-discovery"),
      );
      const rendered = Object.fromEntries(
        operatorObjects.map((object) => [
          `${object.kind}/${object.metadata.name}`,
          comparable(object),
        ]),
      );
      const recorded = [...recordedObjects(release, variant)].map(([name, object]) => [
        name,
        comparable(object),
      ]);
      expect(rendered).toEqual(Object.fromEntries(recorded));
    },
  );

  test.each(releases)("in release %s, has the real chart's CRDs", async (release) => {
    const { objects } = await render("gpu-operator", release);
    const definitions = objects.filter(
      ({ kind, metadata: { name } }) =>
        kind === "CustomResourceDefinition" && name.endsWith("nvidia.com"),
    );
    const renderedKinds = definitions.map(
      ({ metadata, spec: { group, scope, names, versions } }) => ({
        name: metadata.name,
        group,
        scope,
        names,
        versions: versions.map(({ name, served, storage, subresources }: any) => ({
          name,
          served,
          storage,
          subresources: Object.keys(subresources),
        })),
      }),
    );
    const recordedKinds = operatorFacts.definitions.filter((definition) =>
      definition.releases.includes(release),
    );
    const byName = (a: { name: string }, b: { name: string }): number =>
      a.name.localeCompare(b.name);
    expect(renderedKinds.sort(byName)).toEqual(
      recordedKinds.map(({ releases: _, ...rest }) => rest).sort(byName),
    );
  });
});

/**
 * The object without white space in shell scripts, and without fields that have no value, since the API server drops
 * those.
 */
function comparable(object: Manifest): unknown {
  return JSON.parse(
    JSON.stringify(object, (_key, value: unknown) => {
      if (value === null) return undefined;
      return typeof value === "string" ? value.replace(/\s+/g, " ").trim() : value;
    }),
  );
}
