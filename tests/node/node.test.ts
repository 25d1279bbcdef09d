import { whyNoRealNode } from "../../lab/node/able";
import { provideTools } from "../../lab/tools";
import { inOneLine } from "../../components/diagnosis/unlike/index";
import { cases } from "./cases";
import { prepare, type Telling, tellingOf, tidy } from "./compare";
import { differs, realAlone } from "./differs";
import { faults } from "./faults";
import { emulated, machine, openStand, type Stand, stackOf, until } from "./stand";

// A real kubelet, containerd and device plugin on this computer, under the stack that every case shares. Where it cannot run, or is
// not asked for, the cases are skipped, and their name says why.
const reasons = [
  ...whyNoRealNode(),
  ...(process.env.TALOS_GPU_REAL_NODE === "1" ? [] : ["it is not asked for: TALOS_GPU_REAL_NODE=1 does"]),
];
const onNode = reasons.length === 0 ? describe : describe.skip;
const why = reasons.length === 0 ? "" : ` (skipped: ${reasons.join("; ")})`;
if (reasons.length > 0) console.warn(`the cases of the real node are skipped: ${reasons.join("; ")}`);

const chunks = <Each>(all: Each[], size: number): Each[][] =>
  all.length === 0 ? [] : [all.slice(0, size), ...chunks(all.slice(size), size)];

type Answer = Awaited<ReturnType<Stand["ask"]>>;

onNode(`a real node${why}`, () => {
  let stand: Stand;
  beforeAll(async () => {
    const { talosctl } = await provideTools({ only: ["talosctl"] });
    stand = await openStand(talosctl, [1, 4, 2].map(stackOf));
  }, 40 * 60_000);

  test("the card is offered by the real device plugin, whole, in four slices, in two, and every time the smoke test runs on it", () => {
    expect(stand.offered).toEqual([1, 4, 2]);
    expect(stand.lines.filter((line) => /^✔ update/.test(line))).toHaveLength(3);
  });

  test("the doctor finds nothing on the healthy node", async () => {
    const { status, report } = await stand.ask();
    expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
    expect(status).toBe(0);
  });

  describe("the emulated kubelet says what the real one does", () => {
    const told: Record<string, Telling[]> = {};
    beforeAll(async () => {
      await prepare(stand.kubernetes);
      // Some at a time: a kubelet starts many pods slowly, and a state that passes is not seen then.
      for (const some of chunks(Object.keys(cases), 4)) {
        const tellings = some.map(async (what) => {
          const nodes = what in realAlone ? [machine] : [machine, emulated];
          told[what] = await Promise.all(nodes.map((node) => tellingOf(stand.kubernetes, what, node)));
        });
        await Promise.all(tellings);
      }
      await tidy(stand.kubernetes);
    }, 10 * 60_000);

    test.each(Object.keys(cases).filter((what) => !(what in realAlone)))("%s", (what) => {
      const [ofReal, ofEmulated] = told[what]!;
      expect(ofEmulated).toEqual({ ...ofReal, ...differs[what]?.fields });
    });

    test("what they differ in does differ, and has a reason", () => {
      for (const [what, { fields, why }] of Object.entries(differs)) {
        expect(why).not.toBe("");
        for (const [field, said] of Object.entries(fields)) expect(told[what]![0]![field]).not.toEqual(said);
      }
    });
  });

  test.each(Object.entries(faults))(
    "the doctor's word when %s, and none once that is put right",
    async (_what, { bring, unlike, known, mend }) => {
      await bring(stand);
      const says = ({ report: { differences, findings } }: Answer): boolean => {
        const lines = differences.map((each) => [inOneLine(each), ...(each.lastWords ?? [])].join(" | "));
        const causes = findings.map(({ fix }) => fix as string);
        return (
          unlike.every((line) => lines.some((each) => line.test(each))) && known.every((each) => causes.includes(each))
        );
      };
      const { status, report } = await until("the doctor to say so", stand.ask, says);
      expect(status).toBe(1);
      expect(report.findings.map(({ fix }) => fix)).toEqual(known);
      await mend(stand);
      await until("the doctor to find nothing", stand.ask, (answer) => answer.status === 0);
    },
    4 * 60_000,
  );

  test("nothing of it is left: no process, mount, link, control group, file", async () => {
    expect(await stand.close()).toEqual([]);
  }, 120_000);
});
