import * as pulumi from "@pulumi/pulumi";
import { credentialFindings } from "../../components/credentials/credentials";
import { type ConfigurationOwner } from "../../components/recipe";
import { stackOfOneMachine } from "../recipe/stacks";
import { kubeconfig, machineSecrets, talosconfig } from "../support/talos";

const noCredentials = {
  talosconfig: undefined,
  machineSecrets: undefined,
  kubeconfig: undefined,
  omniEndpoint: undefined,
  omniServiceAccountKey: undefined,
};
const fieldsWithFindings = (
  configuration: ConfigurationOwner,
  bootstrap: boolean,
  environment: NodeJS.ProcessEnv = {},
): string[] =>
  credentialFindings(
    noCredentials,
    { ...stackOfOneMachine("v1.12.6", { configuration }), bootstrap },
    environment,
  ).map(({ field }) => field);

test.each<[ConfigurationOwner, boolean, string[]]>([
  ["adopted", false, ["talosconfig", "kubeconfig"]],
  ["owned", false, ["talosconfig", "kubeconfig", "machineSecrets"]],
  ["omni", false, ["talosconfig", "kubeconfig", "omniEndpoint", "omniServiceAccountKey"]],
  ["owned", true, []],
  ["omni", true, ["omniEndpoint", "omniServiceAccountKey"]],
])(
  "a machine with configuration %s and bootstrap %s requires the credentials %j",
  (configuration, bootstrap, fields) =>
    expect(fieldsWithFindings(configuration, bootstrap)).toEqual(fields),
);

test("OMNI_ENDPOINT and OMNI_SERVICE_ACCOUNT_KEY replace the fields of Omni", () => {
  expect(
    fieldsWithFindings("omni", true, {
      OMNI_ENDPOINT: "https://omni",
      OMNI_SERVICE_ACCOUNT_KEY: "k",
    }),
  ).toEqual([]);
});

test("the address in OMNI_ENDPOINT is checked only if a machine belongs to Omni", () => {
  const environment = { OMNI_ENDPOINT: "http://omni.example", OMNI_SERVICE_ACCOUNT_KEY: "k" };
  expect(fieldsWithFindings("omni", true, environment)).toEqual(["omniEndpoint"]);
  expect(fieldsWithFindings("adopted", true, environment)).not.toContain("omniEndpoint");
});

test.each([
  ["kubeconfig", 5, "is of type number but must be text"],
  ["talosconfig", ["x"], "is a list but must be text"],
  ["machineSecrets", {}, "is of type object but must be text"],
  ["omniEndpoint", "omni.example", "URL"],
  ["omniEndpoint", "http://omni.example", "is plain HTTP"],
])("%s with the value %j is refused", (field, value, problem) => {
  const credentials = { ...noCredentials, talosconfig, kubeconfig, [field]: value };
  const findings = credentialFindings(credentials, stackOfOneMachine("v1.12.6", {}), {});
  expect(findings).toEqual([
    expect.objectContaining({ field, problem: expect.stringContaining(problem) }),
  ]);
});

test("a kubeconfig of null counts as not set, and one that is an Output or a promise is accepted", () => {
  const findingsFor = (kubeconfigValue: unknown) =>
    credentialFindings(
      { ...noCredentials, talosconfig, kubeconfig: kubeconfigValue },
      stackOfOneMachine("v1.12.6", {}),
      {},
    );
  expect(findingsFor(null).map(({ field, problem }) => `${field} ${problem}`)).toEqual([
    "kubeconfig is not set",
  ]);
  expect(findingsFor(pulumi.output("k"))).toEqual([]);
  expect(findingsFor(Promise.resolve("k"))).toEqual([]);
});

const omniTalosconfig =
  "context: o\ncontexts: { o: { endpoints: [https://omni], auth: { siderov1: { identity: me } } } }\n";
const findingsOf = (field: string, text: string, configuration: ConfigurationOwner) =>
  credentialFindings(
    { ...noCredentials, talosconfig, kubeconfig, machineSecrets, [field]: text },
    stackOfOneMachine("v1.12.6", { configuration }),
    {},
  );

test("a talosconfig of Omni is accepted for an adopted machine", () => {
  expect(findingsOf("talosconfig", omniTalosconfig, "adopted")).toEqual([]);
});

test.each<[string, string, ConfigurationOwner, RegExp]>([
  ["talosconfig", "a: [hidden", "adopted", /it is not YAML/],
  ["talosconfig", "/home/hidden/.talos/config", "adopted", /it is not a YAML mapping/],
  [
    "talosconfig",
    "context: a\ncontexts: {}\n",
    "adopted",
    /current context "a" is not among its contexts/,
  ],
  [
    "talosconfig",
    "contexts: { toString: {}, home: {} }\ncontext: constructor\n",
    "adopted",
    /is not among .*: it has toString, home$/,
  ],
  ["talosconfig", omniTalosconfig, "owned", /missing or of the wrong type: contexts\.o\.ca/],
  ["kubeconfig", "~/.kube/hidden", "adopted", /it is not a YAML mapping/],
  [
    "kubeconfig",
    "apiVersion: v1\nkind: Config\n",
    "adopted",
    /missing or of the wrong type: clusters/,
  ],
  [
    "machineSecrets",
    "secrets: { bootstraptoken: hidden }\n",
    "owned",
    /missing or of the wrong type: cluster/,
  ],
])(
  "%s with the content %j is refused for a machine with configuration %s, and not printed",
  (field, text, configuration, problem) => {
    const findings = findingsOf(field, text, configuration);
    expect(findings.map((finding) => finding.field)).toEqual([field]);
    expect(findings[0]!.problem).toMatch(problem);
    expect(JSON.stringify(findings)).not.toContain("hidden");
  },
);
