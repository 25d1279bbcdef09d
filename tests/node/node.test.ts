import { provideTools } from "../../lab/tools";
import { ask } from "../e2e/support/doctor";
import { describeReal } from "../e2e/support/real-node";
import { cases } from "./cases";
import { prepare, sights, type Telling, tellingOf, tidy } from "./compare";
import { differs, labelsDiffer, ofTheMoment, realAlone } from "./differs";
import { emulated, machine, openStand, type Stand, until } from "./stand";

// A real kubelet, containerd and device plugin on this computer, and emulated ones beside them, under the stack that every case shares.

/** Does something with each, some at a time. */
async function each<Item>(items: Item[], some: number, act: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: some }, worker));
}

describeReal("a real node", () => {
  let stand: Stand;
  let talosctl: string;
  beforeAll(async () => {
    ({ talosctl } = await provideTools({ only: ["talosctl"] }));
    stand = await openStand();
  }, 40 * 60_000);

  test("the doctor finds nothing on the healthy node", async () => {
    const { status, report } = await ask(talosctl, stand.access);
    expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
    expect(status).toBe(0);
  }, 120_000);

  test("real and emulated GPU feature discovery label their nodes alike, by whichever master of Node Feature Discovery", async () => {
    const labelsOf = async (): Promise<Record<string, string>[]> => {
      const nodes = await Promise.all(
        [machine, emulated].map((name) => stand.kubernetes.read(`/api/v1/nodes/${name}`)),
      );
      return nodes.map(({ metadata }) => metadata.labels as Record<string, string>);
    };
    const onBus = "feature.node.kubernetes.io/pci-10de.present";
    const all = (labels: Record<string, string>): boolean => onBus in labels && "nvidia.com/gpu.product" in labels;
    const nodes = await until("the labels", labelsOf, (found) => found.every(all));
    const [real, other] = nodes.map((labels) =>
      Object.entries(labels).filter(
        ([name]) => /^nvidia\.com\//.test(name) && name !== ofTheMoment && !(name in labelsDiffer),
      ),
    );
    expect(Object.fromEntries(other!)).toEqual(Object.fromEntries(real!));
    for (const name of Object.keys(labelsDiffer)) expect([name, nodes[1]![name]]).not.toEqual([name, nodes[0]![name]]);
    expect(nodes[0]!["nvidia.com/gpu.product"]).toBe("NVIDIA-GeForce-RTX-3090-SHARED");
  }, 120_000);

  describe("the emulated kubelet says what the real one does", () => {
    const told: Record<string, Telling[]> = {};
    beforeAll(async () => {
      await prepare(stand.kubernetes);
      const sight = sights(stand.kubernetes);
      // Some at a time: a kubelet starts many pods slowly, and a state that passes is not seen then.
      await each(Object.keys(cases), 6, async (what) => {
        const on = (node: string, has = true): Promise<Telling> => tellingOf(stand.kubernetes, sight, what, node, has);
        told[what] = await Promise.all([on(machine), on(emulated, !(what in realAlone))]);
      });
      await tidy(stand.kubernetes);
    }, 10 * 60_000);

    test.each(Object.keys(cases).filter((what) => !(what in realAlone)))("%s", (what) => {
      const [ofReal, ofEmulated] = told[what]!;
      expect(ofEmulated).toEqual({ ...ofReal, ...differs[what]?.fields });
    });

    test("what they differ in does differ, and has a reason", () => {
      for (const [what, why] of Object.entries(realAlone)) {
        expect(why).not.toBe("");
        expect(told[what]![1]!.phase).toBe("Running");
      }
      for (const [what, { fields, why }] of Object.entries(differs)) {
        expect(why).not.toBe("");
        for (const [field, said] of Object.entries(fields)) expect(told[what]![0]![field]).not.toEqual(said);
      }
    });
  });

  test("what loses its parent on the node is laid to rest when it ends", async () => {
    const script = 'sh -c "sleep 0.1 & exit 0"; sleep 0.5; grep -l "^State:.*zombie" /proc/[0-9]*/status || true';
    expect(await stand.onNode(script)).toBe("");
  });

  test("nothing of it is left: no process, mount, link, control group, file", async () => {
    await stand.close();
  }, 120_000);
});
