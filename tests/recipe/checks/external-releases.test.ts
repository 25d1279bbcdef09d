import { type ExternalReadSpec, judge } from "../../../components/recipe";
import { validStack } from "../stacks";

const { devicePlugin: _plugin, ...stackOnTalos113 } = validStack("plugin-on-1.13");
/** The checks that find something in a stack whose default runtime is nvidia, with this external release. */
const checksWithNvidiaAsDefault = (read: ExternalReadSpec) => {
  const [[name, machine]] = Object.entries(stackOnTalos113.machines) as [[string, object]];
  const machines = {
    ...stackOnTalos113.machines,
    [name]: { ...machine, containerd: { nvidiaDefaultRuntime: true } },
  };
  return judge({ ...stackOnTalos113, machines, external: { read } }).findings.map(
    ({ check }) => check,
  );
};

test("on Talos 1.13, the default runtime nvidia is accepted only with an external plugin older than 0.17.4", () => {
  const values = { runtimeClassName: "nvidia" };
  expect(checksWithNvidiaAsDefault({ kind: "devicePlugin", version: "0.17.1", values })).toEqual(
    [],
  );
  expect(checksWithNvidiaAsDefault({ kind: "devicePlugin", version: "0.17.4", values })).toEqual([
    "default-runtime",
  ]);
});

test("NVIDIA's former chart of the DRA driver is accepted only in an external release", () => {
  const {
    gpuOperator: _operator,
    workloads: _workloads,
    ...stackWithoutOperator
  } = validStack("rtx5070ti");
  const values = { nvidiaDriverRoot: "/usr/local", gpuResourcesEnabledOverride: true };
  const version = "25.8.0";
  expect(
    judge({ ...stackWithoutOperator, external: { kind: "dra", version, values } }).findings,
  ).toEqual([]);
  expect(
    judge({ ...stackWithoutOperator, dra: { version } }).findings.map(({ field }) => field),
  ).toContain("dra.version");
});
