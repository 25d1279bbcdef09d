import { remarks } from "../../cli/doctor/remarks";
import { consoleLines, driverErrors } from "../../components/clients/talos/console";
import { causeIds, diagnose, fixes, fixIds } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/system";
import { migManagerRelease } from "../../components/recipe/cluster/mig-manager";
import { diagnosedCauses, plansOf, withoutStack } from "./causes/case";
import { cardFaults } from "./causes/card-faults";
import { fixCases } from "./causes/fixes";
import { operatorCases } from "./causes/operator";
import { healthy } from "./causes/observations";
import { taintCases } from "./causes/taints";
import { textsOfCauses } from "./causes/texts";
import { twoMachineCases } from "./causes/two-machines";

const cases = [...fixCases, ...taintCases, ...operatorCases, ...twoMachineCases];
const texts = Object.entries(textsOfCauses);

test.each(cases)("the diagnosis has exactly the expected causes: $name", (causeCase) => {
  const plans = plansOf(causeCase);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) {
    expect(diagnosedCauses(causeCase, plan)).toEqual(causeCase.causes);
    if (causeCase.remedy !== undefined)
      expect(diagnose(causeCase.observations, plan)[0]?.remedy).toContain(causeCase.remedy);
  }
});

test.each(texts.flatMap(([cause, messages]) => messages.map((text) => [cause, text])))(
  "the cause %s is recognised in: %s",
  (cause, message) => {
    const events = [{ namespace: "gpu", object: "Pod/x", message }];
    expect(diagnose({ events }).map(({ fix }) => fix)).toEqual([cause]);
  },
);

test.each(cardFaults.map((fault) => [fault.kernel ?? fault.service!, fault] as const))(
  "an error of a card or a service has the expected cause and remedy: %s",
  (_, { kernel, service, cause, remedy }) => {
    const log = `192.0.2.1: kern: warning: [2026-04-22T21:30:51.870495804Z]: ${kernel}\n`;
    const errors = kernel === undefined ? [service!] : driverErrors(consoleLines(log));
    const observations = { machines: [{ name: "gpu-1", errors }] };
    const diagnosed = diagnose(observations);
    const remark = remarks(observations, undefined);
    expect(diagnosed.map(({ fix }) => fix)).toEqual(cause === null ? [] : [cause]);
    expect(remark).toHaveLength(cause === null ? 1 : 0);
    const advice = [...diagnosed.map((diagnosis) => diagnosis.remedy), ...remark];
    expect(advice).toEqual([expect.stringContaining(remedy)]);
  },
);

test("every known cause has a text in these tables, and every fix a case", () => {
  const namedCauses = cases.flatMap(({ causes }) =>
    causes.map((cause) => (typeof cause === "string" ? cause : cause.cause)),
  );
  const withText = [...texts.map(([cause]) => cause), ...cardFaults.map(({ cause }) => cause)];
  expect(causeIds.filter((id) => !withText.includes(id))).toEqual([]);
  expect(fixIds.filter((id) => !namedCauses.includes(id))).toEqual([]);
});

test("systemOf finds the same GPU provider and machines by the plan as by the observed cluster", () => {
  for (const plan of plansOf({ stacks: ["rtx5070ti", withoutStack] })) {
    const { injection, mode, namespace, gpuMachines } = systemOf(healthy, plan);
    expect({ injection, mode, namespace }).toEqual({
      injection: "legacy",
      mode: "operator",
      namespace: "nvidia-gpu-operator",
    });
    expect(gpuMachines.map(({ name }) => name)).toEqual(["k8s-worker4"]);
  }
});

test.each([
  ["NVIDIA's manifest if it is alone", [], { mode: "devicePlugin", namespace: "kube-system" }],
  ["the operator if the operator exists", ["gpu-operator"], { mode: "operator", namespace: "gpu" }],
  [
    "the operator if an operand of the operator exists",
    ["nvidia-operator-validator"],
    { mode: "operator" },
  ],
])("nvidia-device-plugin-daemonset belongs to %s", (_, otherNames, system) => {
  const daemonSet = (namespace: string, name: string) => ({
    namespace,
    name,
    desired: 1,
    ready: 1,
  });
  const daemonSets = [
    daemonSet("kube-system", "nvidia-device-plugin-daemonset"),
    ...otherNames.map((name) => daemonSet("gpu", name)),
  ];
  expect(systemOf({ daemonSets })).toMatchObject(system);
});

test("the fix of the MIG manager names the release that a stack uses", () => {
  expect(fixes.find(({ id }) => id === "migManager")!.does).toContain(
    `the release ${migManagerRelease},`,
  );
});
