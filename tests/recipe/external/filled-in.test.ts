import { type ExternalReadSpec, judge, renderFinding } from "../../../components/recipe";
import { validStack } from "../stacks";

const { gpuOperator: _operator, ...withoutOperator } = validStack("rtx5070ti");

const requiredValues = {
  driver: { enabled: false },
  toolkit: { enabled: false },
  cdi: { enabled: false },
};

/** The fields with findings, and the notes, on an external operator with these values. */
function judgeExternalValues(values: Record<string, unknown>) {
  const read: ExternalReadSpec = { kind: "gpuOperator", by: "Flux", version: "v26.3.3", values };
  const { findings, remarks } = judge({ ...withoutOperator, external: { read } });
  const valueRemarks = remarks.filter(({ check }) => check === "chart-values");
  const fields = [...findings, ...valueRemarks].map(({ field }) => field);
  const notes = remarks.filter(({ check }) => check === "external-filled-in").map(renderFinding);
  return { found: fields, notes };
}

test("a value that Flux fills in is not checked, and a note names it", () => {
  const { found, notes } = judgeExternalValues({
    driver: { enabled: "${DRIVER:=false}" },
    toolkit: "${TOOLKIT}",
    cdi: requiredValues.cdi,
    mig: { strategy: "${MIG}" },
    devicePlugin: { config: { data: { any: "version: v1\nsharing: ${SHARING}\nflags: [" } } },
    dcgmExporter: { env: [{ name: "DCGM_EXPORTER_INTERVAL", value: "${INTERVAL}" }] },
  });
  expect(found).toEqual([]);
  expect(notes).toHaveLength(5);
  expect(notes).toContainEqual(
    expect.stringMatching(
      /^external\.values\.driver\.enabled: has a placeholder that another tool fills in/,
    ),
  );
});

test("a value next to one that Flux fills in is still checked", () => {
  const { found } = judgeExternalValues({
    ...requiredValues,
    mig: { strategy: "some" },
    gds: { enabled: true, version: "${GDS}" },
  });
  expect(found).toEqual(["external.values.mig.strategy", "external.values.gds.enabled"]);
});

test("a note says that a node's number of GPUs is unknown if Flux fills in part of the plugin's configuration", () => {
  const config =
    "version: v1\nsharing: { timeSlicing: { resources: [{ name: nvidia.com/gpu, replicas: ${REPLICAS} }] } }\n";
  const read: ExternalReadSpec = {
    kind: "devicePlugin",
    version: "0.17.4",
    values: { runtimeClassName: "nvidia", config: { map: { default: config } } },
  };
  const { workloads: _workloads, ...withoutWorkloads } = withoutOperator;
  const { findings, remarks } = judge({ ...withoutWorkloads, external: { read } });
  expect(findings).toEqual([]);
  expect(remarks.map(renderFinding)).toContainEqual(
    expect.stringMatching(/it is unknown how many GPUs a node offers/),
  );
});
