import * as fs from "node:fs";
import * as path from "node:path";
import { causeIds, causes, fixes } from "../../components/diagnosis";
import { withFailures } from "../../generate/troubleshooting";

const file = path.join(__dirname, "../../docs/troubleshooting.md");

/** `UPDATE_DOCS=1 npx jest tests/generate/troubleshooting` writes the page. */
test("docs/troubleshooting.md equals the page that is generated from fixes and causes", () => {
  const page = withFailures(fs.readFileSync(file, "utf8"));
  if (process.env.UPDATE_DOCS) fs.writeFileSync(file, page);
  expect(fs.readFileSync(file, "utf8")).toBe(page);
});

test("every fix has a section with its literal errors", () => {
  const generatedPart = /<!-- fixes: [\s\S]*?<!-- end of fixes -->/.exec(
    fs.readFileSync(file, "utf8"),
  )!;
  const sections = generatedPart[0].split(/^<details>/m).slice(1);
  expect(sections).toHaveLength(fixes.length);
  for (const [index, fix] of fixes.entries()) {
    for (const text of [
      `<a id="${fix.id}"></a>`,
      fix.cause.slice(1),
      fix.does,
      ...(fix.errors ?? []),
    ])
      expect(sections[index]).toContain(text);
  }
});

test("every known cause has a section with its literal errors", () => {
  const generatedPart = /<!-- causes: [\s\S]*?<!-- end of causes -->/.exec(
    fs.readFileSync(file, "utf8"),
  )!;
  const sections = generatedPart[0].split(/^### /m).slice(1);
  expect(sections).toHaveLength(causeIds.length);
  for (const [index, id] of causeIds.entries())
    for (const text of [causes[id].symptom.slice(1), ...causes[id].errors])
      expect(sections[index]).toContain(text);
});

// A name keeps its spelling: `vLLM`, not `VLLM`.
test("no symptom or cause on the page capitalises a name such as vLLM or nvidia.com/gpu", () => {
  expect(fs.readFileSync(file, "utf8")).not.toMatch(
    /^(?:### |<details>.*<\/a>)?(?:VLLM|Ext-|Nvidia[-.])/m,
  );
});
