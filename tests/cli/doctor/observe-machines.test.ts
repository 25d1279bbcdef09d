import { repeatedFilesOf } from "../../../cli/doctor/observe/observe-machines";

test("repeatedFilesOf returns the files that a machine configuration writes more than once", () => {
  const item = (path: string): string => `    - {path: ${path}, op: create, content: "x"}\n`;
  const machine = `machine:\n  files:\n${item("/var/a")}${item("/var/b")}${item("/var/a")}${item("/var/a")}`;
  const otherDocument = "apiVersion: v1alpha1\nkind: HostnameConfig\n";
  expect(repeatedFilesOf(`${machine}---\n${otherDocument}`)).toEqual(["/var/a"]);
  expect(repeatedFilesOf("machine: {}\n")).toEqual([]);
  expect(repeatedFilesOf(undefined)).toEqual([]);
});
