import { selectCases } from "../../node/gpu/cases";
import type { CasesReport } from "../../node/gpu/table";
import { waitUntilNothingIsLeft, runLab } from "../../../tests/e2e/support/labs";
import { describeOnRealNode } from "../../../tests/e2e/support/real-node";

/** Name of the case that needs a card that computes. */
const computingCase = "smoke";

// The cases of `--gpu` about a cluster with cards and about the doctor's report. A stand-in replaces the driver.
describeOnRealNode("the cases of a card, on a stand-in of one", () => {
  let report: CasesReport;
  let folder: string;
  beforeAll(async () => {
    ({ report, folder } = await runLab<CasesReport>(["--machines", "node", "--cases", "all"]));
  });

  const titles = selectCases(["all"]).map(({ id, title }) => [title, id]);
  test.each([...titles, ["everything is taken down", "down"]])("%s", (_title, id) => {
    const { held, seen } = report.rows.find((row) => row.id === id)!;
    expect({ held, seen }).toEqual({ held: id === computingCase ? undefined : true, seen });
  });

  test("the node leaves no process, mount, link, control group or file", async () => {
    await waitUntilNothingIsLeft(folder);
  });
});
