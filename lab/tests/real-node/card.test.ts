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
    const { passed, observation } = report.rows.find((row) => row.id === id)!;
    // The observation is in both objects, so that a failure shows it. Nothing computes without a real card.
    expect({ passed, observation }).toEqual({
      passed: id === computingCase ? undefined : true,
      observation,
    });
  });

  test("the node leaves no process, mount, link, control group or file", async () => {
    await waitUntilNothingIsLeft(folder);
  });
});
