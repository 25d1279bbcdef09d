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
  const own = new SecretFiles(root);
  const [ours] = fs.readdirSync(root);
  const [, , namespace] = /^(talos-gpu-\d+)-(\d+)-/.exec(ours!)!;
  const gone = 2 ** 22 + 1; // larger than any process id of Linux
  const left = [
    `talos-gpu-${gone}-${namespace}-dead`,
    `talos-gpu-${gone}-1-elsewhere`,
    `talos-gpu-${gone}-1-old`,
  ];
  for (const name of left) fs.mkdirSync(path.join(root, name));
  fs.utimesSync(path.join(root, left[2]!), 0, 0);
  new SecretFiles(root).close();
  expect(fs.readdirSync(root).sort()).toEqual([ours, left[1]].sort());
  own.close();
  fs.rmSync(root, { recursive: true });
});
