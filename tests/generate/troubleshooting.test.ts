import * as fs from "node:fs";
import * as path from "node:path";
import { causeIds, fixes } from "../../components/diagnosis";
import { withFailures } from "../../generate/troubleshooting";

const file = path.join(__dirname, "../../docs/troubleshooting.md");

/** `UPDATE_DOCS=1 npx jest tests/generate/troubleshooting` writes the page. */
test("docs/troubleshooting.md says what the fixes say", () => {
  const page = withFailures(fs.readFileSync(file, "utf8"));
  if (process.env.UPDATE_DOCS) fs.writeFileSync(file, page);
  expect(fs.readFileSync(file, "utf8")).toBe(page);
});

test("every fix has a section with its literal errors", () => {
  const sections = fs.readFileSync(file, "utf8").split(/^## /m).slice(1);
  expect(sections).toHaveLength(fixes.length + causeIds.length);
  for (const [index, fix] of fixes.entries()) {
    for (const text of [fix.cause.slice(1), fix.does, `Fix \`${fix.id}\``, ...(fix.errors ?? [])])
      expect(sections[index]).toContain(text);
  }
});
