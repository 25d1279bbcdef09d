import * as fs from "node:fs";
import * as path from "node:path";
import { Document, isScalar, visit, type YAMLMap } from "yaml";
import { checkCluster, parseSpec, planCluster, type ClusterSpec } from "../../components/recipe";
import { expected } from "../e2e/support/expected";
import { stacks } from "../support/stacks";
import { readStackFile } from "../../stacks/stack-file";

const folder = path.join(__dirname, "..", "fixtures", "plans");

test("a test brings up each stack in the lab, and says what it must come to", () =>
  expect(Object.keys(expected).sort()).toEqual(stacks));

/** Whether a mapping is as easily read on one line. */
const isSmall = ({ items }: YAMLMap): boolean =>
  items.length < 5 && items.every(({ value }) => isScalar(value) && String(value).length < 40);

/**
 * The whole plan of every stack, as committed: a change of a rule shows what it changes, for every real system, in the
 * diff of a pull request. `UPDATE_GOLDEN=1 npx jest tests/stacks/plans` writes the files.
 */
describe.each(stacks)("plan of %s", (stack) => {
  const parsed = parseSpec(readStackFile(stack));
  const spec = parsed.spec as ClusterSpec;

  test("nothing is wrong with the stack", () => {
    expect(parsed.findings).toEqual([]);
    expect(checkCluster(spec)).toEqual([]);
  });

  test("is the committed one", () => {
    const file = path.join(folder, `${stack}.yaml`);
    const { spec: _said, ...plan } = planCluster(spec);
    const document = new Document(plan);
    visit(document, { Map: (_, node) => void (node.flow = isSmall(node)) });
    const text = document.toString({ lineWidth: 0 });
    if (process.env.UPDATE_GOLDEN) {
      fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(file, text);
    }
    expect(text).toBe(fs.readFileSync(file, "utf8"));
  });
});
