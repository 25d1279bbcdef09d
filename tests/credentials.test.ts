import { missingCredentials } from "../components/credentials";
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
  missingCredentials(nothing, { ...oneMachine("v1.12.6", { configuration }), bootstrap }, environment).map(
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
