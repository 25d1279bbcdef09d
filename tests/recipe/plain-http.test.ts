import { isPlainHttp } from "../../components/recipe/rules/plain-http";
import { warningsAndNotes } from "../support/warnings-and-notes";
import { readStackFile } from "../../stacks/stack-file";

test.each([
  ["http://factory.example.org", true],
  ["HTTP://factory.example.org", true],
  ["http://10.0.0.1:8080", true],
  ["http://127.0.0.1.example.org", true],
  ["http://localhost.example.org", true],
  ["http://127.0.0.1:8080", false],
  ["http://localhost:8080", false],
  ["http://[::1]:8080", false],
  ["https://factory.example.org", false],
  ["oci://registry.example.org/charts", false],
  ["no URL", false],
])("%s is plain HTTP over the network: %s", (url, expected) =>
  expect(isPlainHttp(url)).toBe(expected),
);

test("a note names an Image Factory and a chart repository with plain HTTP", () => {
  const stack = readStackFile("rtx5070ti");
  const notes = (change: object): string[] =>
    warningsAndNotes({ ...stack, ...change }).filter((note) => note.includes("is plain HTTP"));
  expect(notes({ factoryUrl: "http://factory.example.org" })).toEqual([
    expect.stringMatching(/^factoryUrl: /),
  ]);
  const operator = stack["gpuOperator"] as object;
  expect(notes({ gpuOperator: { ...operator, repository: "http://charts.example.org" } })).toEqual([
    expect.stringMatching(/^gpuOperator\.repository: .* use https or oci$/),
  ]);
  expect(notes({ factoryUrl: "http://127.0.0.1:1", gpuOperator: operator })).toEqual([]);
});
