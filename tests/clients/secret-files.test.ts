import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { secretValues, SecretFiles } from "../../components/clients/secret-files";

test("secretValues returns the credentials of every YAML document", () => {
  const text =
    "kind: Config\nusers: [{user: {token: first-secret}}]\n---\nkind: Config\nusers: [{user: {token: second-secret}}]\n";
  expect(secretValues(text)).toEqual(["first-secret", "second-secret"]);
});

test("files of a killed run are removed, but those of another container only after a week", () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "credentials-test-"));
  const secretFiles = new SecretFiles(root);
  const [ownFolder] = fs.readdirSync(root);
  const [, , namespace] = /^(talos-gpu-\d+)-(\d+)-/.exec(ownFolder!)!;
  const unusedPid = 2 ** 22 + 1; // larger than any process id of Linux
  const leftFolders = [
    `talos-gpu-${unusedPid}-${namespace}-dead`,
    `talos-gpu-${unusedPid}-1-elsewhere`,
    `talos-gpu-${unusedPid}-1-old`,
  ];
  for (const name of leftFolders) fs.mkdirSync(path.join(root, name));
  fs.utimesSync(path.join(root, leftFolders[2]!), 0, 0);
  new SecretFiles(root).close();
  expect(fs.readdirSync(root).sort()).toEqual([ownFolder, leftFolders[1]].sort());
  secretFiles.close();
  fs.rmSync(root, { recursive: true });
});
