import { remarks } from "../../cli/doctor/remarks";
import { consoleLines, driverComplaints } from "../../components/clients/talos/console";
import { type CauseId, causeIds, diagnose, fixes, fixIds } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/system";
import { migManagerRelease } from "../../components/recipe/cluster/mig-manager";
import { only } from "../support/table";
import { type CauseRow, plansOf, seenIn, table, toldOf } from "./cases";

const parts: (keyof CauseRow)[] = ["name", "of", "seen", "add", "stack", "told", "remedy"];
const rows = table<CauseRow[]>("causes").map((row) => only(row, parts));
const texts = Object.entries(table<Record<string, string[]>>("texts"));

test.each(rows.map((row) => [row.name, row] as const))("what is named of %s", (_, row) => {
  for (const plan of plansOf(row)) {
    expect(toldOf(row, plan)).toEqual(row.told);
    if (row.remedy !== undefined)
      expect(diagnose(seenIn(row), plan)[0]?.remedy).toContain(row.remedy);
  }
});

test.each(texts.flatMap(([cause, said]) => said.map((text) => [cause, text])))(
  "%s: %s",
  (cause, message) => {
    const events = [{ namespace: "gpu", object: "Pod/x", message: message }];
    expect(diagnose({ events }).map(({ fix }) => fix)).toEqual([cause]);
  },
);

/** A row of cards.yaml, which says what each part of it is. */
interface CardRow {
  kernel?: string;
  service?: string;
  told: CauseId | null;
  do: string;
}
const cards = table<CardRow[]>("cards");

test.each(cards.map((row) => [row.kernel ?? row.service!, row] as const))(
  "%s",
  (_, { kernel, service, ...named }) => {
    const log = `192.0.2.1: kern: warning: [2026-04-22T21:30:51.870495804Z]: ${kernel}\n`;
    const errors = kernel === undefined ? [service!] : driverComplaints(consoleLines(log));
    const seen = { machines: [{ name: "gpu-1", errors }] };
    const said = diagnose(seen).map(({ fix, remedy }) => [fix, remedy]);
    const remark = remarks(seen, undefined);
    expect(said.length + remark.length).toBe(1);
    expect([named.told, ...remark].concat(...said)).toContainEqual(
      expect.stringContaining(named.do),
    );
    expect(said[0]?.[0] ?? null).toBe(named.told);
  },
);

test("every known cause has a text, and each fix a row of what is seen without it", () => {
  const named = rows.flatMap(({ told }) =>
    told.flatMap((one) => (typeof one === "string" ? one : Object.keys(one))),
  );
  expect(
    causeIds.filter(
      (id) => ![...texts.map(([cause]) => cause), ...cards.map(({ told }) => told)].includes(id),
    ),
  ).toEqual([]);
  expect(fixIds.filter((id) => !named.includes(id))).toEqual([]);
});

test("the system is told alike from its plan and from what the cluster looks like", () => {
  const row: CauseRow = {
    name: "a healthy operator's",
    of: "healthy",
    stack: ["rtx5070ti", null],
    told: [],
  };
  for (const plan of plansOf(row)) {
    const { era, mode, namespace, gpuMachines } = systemOf(seenIn(row), plan);
    expect([era, mode, namespace]).toEqual(["legacy", "operator", "nvidia-gpu-operator"]);
    expect(gpuMachines.map(({ name }) => name)).toEqual(["k8s-worker4"]);
  }
});

test.each([
  [
    "alone it is of NVIDIA's manifest without Helm",
    [],
    { mode: "devicePlugin", namespace: "kube-system" },
  ],
  [
    "beside the operator it is the operator's",
    ["gpu-operator"],
    { mode: "operator", namespace: "gpu" },
  ],
  [
    "beside an operand that only the operator has, too",
    ["nvidia-operator-validator"],
    { mode: "operator" },
  ],
])("nvidia-device-plugin-daemonset: %s", (_, others, system) => {
  const set = (where: string, name: string) => ({ namespace: where, name, desired: 1, ready: 1 });
  const daemonSets = [
    set("kube-system", "nvidia-device-plugin-daemonset"),
    ...others.map((name) => set("gpu", name)),
  ];
  expect(systemOf({ daemonSets })).toMatchObject(system);
});

test("the words on the MIG manager name the release that a stack takes", () => {
  expect(fixes.find(({ id }) => id === "migManager")!.does).toContain(
    `the release ${migManagerRelease},`,
  );
});
