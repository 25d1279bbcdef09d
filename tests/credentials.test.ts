import * as pulumi from "@pulumi/pulumi";
import { credentialFindings } from "../components/credentials";
import { type ConfigurationOwner } from "../components/recipe";
import { oneMachine } from "./recipe/stacks";

const nothing = {
  talosconfig: undefined,
  machineSecrets: undefined,
  kubeconfig: undefined,
  omniEndpoint: undefined,
  omniServiceAccountKey: undefined,
};
const missing = (
  configuration: ConfigurationOwner,
  bootstrap: boolean,
  environment: NodeJS.ProcessEnv = {},
): string[] =>
  credentialFindings(nothing, { ...oneMachine("v1.12.6", { configuration }), bootstrap }, environment).map(
    ({ field }) => field,
  );

test.each<[ConfigurationOwner, boolean, string[]]>([
  ["adopted", false, ["talosconfig", "kubeconfig"]],
  ["owned", false, ["talosconfig", "kubeconfig", "machineSecrets"]],
  ["omni", false, ["talosconfig", "kubeconfig", "omniEndpoint", "omniServiceAccountKey"]],
  ["owned", true, []],
  ["omni", true, ["omniEndpoint", "omniServiceAccountKey"]],
])("a machine that is %s, bootstrap %s: asks for %j", (configuration, bootstrap, fields) =>
  expect(missing(configuration, bootstrap)).toEqual(fields),
);

test("Omni's own variables will do", () => {
  expect(missing("omni", true, { OMNI_ENDPOINT: "https://omni", OMNI_SERVICE_ACCOUNT_KEY: "k" })).toEqual([]);
});

test.each([
  ["kubeconfig", 5, "is number but must be text"],
  ["talosconfig", ["x"], "is a list but must be text"],
  ["machineSecrets", {}, "is object but must be text"],
  ["omniEndpoint", "omni.example", "URL"],
])("%s that is %j is refused", (field, value, problem) => {
  const given = { ...nothing, talosconfig: "t", kubeconfig: "k", [field]: value };
  const found = credentialFindings(given, oneMachine("v1.12.6", {}), {});
  expect(found).toEqual([expect.objectContaining({ field, problem: expect.stringContaining(problem) })]);
});

test("null is not set, and what is yet to come is taken", () => {
  const found = (kubeconfig: unknown) =>
    credentialFindings({ ...nothing, talosconfig: "t", kubeconfig } as never, oneMachine("v1.12.6", {}), {});
  expect(found(null).map(({ field, problem }) => `${field} ${problem}`)).toEqual(["kubeconfig is not set"]);
  expect(found(pulumi.output("k"))).toEqual([]);
  expect(found(Promise.resolve("k"))).toEqual([]);
});
