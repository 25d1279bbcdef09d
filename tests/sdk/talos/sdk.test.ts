import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { MockMonitor } from "@pulumi/pulumi/runtime/mocks";
import * as talos from "@pulumiverse/talos";
import * as ts from "typescript";
import packageJson from "../../../sdk/talos/package.json";
import { isSecret } from "../../support/graph";
import publishedFacts from "./facts.json";

// facts.json contains the published package: its schema (tokens, names, required and secret fields) and its
// TypeScript types. Write-only arguments, whose names end in Wo, are left out, since this SDK has none.
const facts = JSON.parse(JSON.stringify(publishedFacts), (_, value: unknown) =>
  Array.isArray(value) ? value.filter((name) => !String(name).endsWith("Wo")) : value,
) as typeof publishedFacts;

const sdk = join(__dirname, "../../../sdk/talos");

type Facts = { inputs: string[]; requiredInputs: string[]; outputs: string[]; secrets?: string[] };
type Constructor = new (
  name: string,
  args: any,
  opts?: pulumi.CustomResourceOptions,
) => pulumi.CustomResource;

const classes: Record<string, Constructor> = {
  "talos:machine/secrets:Secrets": talos.machine.Secrets,
  "talos:machine/configurationApply:ConfigurationApply": talos.machine.ConfigurationApply,
  "talos:machine/bootstrap:Bootstrap": talos.machine.Bootstrap,
  "talos:cluster/kubeconfig:Kubeconfig": talos.cluster.Kubeconfig,
  "talos:imageFactory/schematic:Schematic": talos.imagefactory.Schematic,
};

const functions: Record<string, (args: any) => pulumi.Output<unknown>> = {
  "talos:machine/getConfiguration:getConfiguration": talos.machine.getConfigurationOutput,
};

interface Registration {
  type: string;
  inputs: Record<string, any>;
  secrets: string[];
  version: string;
  url: string;
}

/** A monitor that records registrations and calls. */
class Recorder extends MockMonitor {
  public readonly registrations: Registration[] = [];
  public readonly calls: {
    token: string;
    args: Record<string, unknown>;
    version: string;
    url: string;
  }[] = [];

  public override async registerResource(request: any, callback: any): Promise<void> {
    this.registrations.push({
      type: request.getType(),
      inputs: request.getObject()?.toJavaScript() ?? {},
      secrets: request.getAdditionalsecretoutputsList(),
      version: request.getVersion(),
      url: request.getPlugindownloadurl(),
    });
    return super.registerResource(request, callback);
  }

  public override async invoke(request: any, callback: any): Promise<void> {
    this.calls.push({
      token: request.getTok(),
      args: request.getArgs()?.toJavaScript() ?? {},
      version: request.getVersion(),
      url: request.getPlugindownloadurl(),
    });
    return super.invoke(request, callback);
  }
}

/** Runs a program with a recorder. */
async function runRecorded(program: () => void | Promise<void>): Promise<Recorder> {
  const recorder = new Recorder({
    newResource: ({ inputs, id, name }) => ({ id: id || `${name}-id`, state: inputs }),
    call: ({ inputs }) => inputs,
  });
  await pulumi.runtime.setMocks({
    newResource: ({ name }) => ({ id: name, state: {} }),
    call: () => ({}),
  });
  pulumi.runtime.setMockOptions(recorder, "project", "stack", false, "organization");
  await pulumi.runtime.runInPulumiStack(async () => void (await program()));
  await pulumi.runtime.disconnect();
  return recorder;
}

const withPlaceholders = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, `<${name}>`]));

test("the stand-in has the published package's name, version and plugin", () => {
  expect(packageJson).toMatchObject({
    name: "@pulumiverse/talos",
    version: "0.8.1",
    private: true,
    main: "bin/index.js",
    pulumi: {
      resource: true,
      name: "talos",
      version: "0.8.1",
      server: "github://api.github.com/pulumiverse",
    },
  });
});

test("the stand-in has exactly the resources and functions in facts.json", () => {
  expect(Object.keys(classes).sort()).toEqual(Object.keys(facts.resources).sort());
  expect(Object.keys(functions).sort()).toEqual(Object.keys(facts.functions).sort());
});

describe.each(Object.entries<Facts>(facts.resources))("%s", (token, fact) => {
  const construct = classes[token]!;

  test("registers with the token, inputs, secrets and plugin of the published class", async () => {
    let resource: pulumi.CustomResource | undefined;
    const recorder = await runRecorded(() => {
      resource = new construct("it", withPlaceholders([...fact.inputs, "unheardOf"]));
    });
    const [registration] = recorder.registrations.filter(({ type }) => type === token);
    expect(registration).toMatchObject({
      secrets: fact.secrets,
      version: packageJson.version,
      url: packageJson.pulumi.server,
    });
    expect(Object.keys(registration!.inputs).sort()).toEqual(fact.inputs);
    const secretInputs = fact.inputs.filter((name) => isSecret(registration!.inputs[name]));
    // The published class marks these as secret even if the caller forgets it.
    expect(secretInputs).toEqual(fact.inputs.filter((name) => fact.secrets!.includes(name)));
    const outputs = Object.keys(resource!).filter((key) =>
      pulumi.Output.isInstance((resource as any)[key]),
    );
    expect(outputs.filter((name) => name !== "id" && name !== "urn").sort()).toEqual(fact.outputs);
  });
});

describe.each(Object.entries<Facts>(facts.functions))("%s", (token, fact) => {
  test("calls the plugin with the token and arguments of the published function", async () => {
    const recorder = await runRecorded(
      () =>
        new Promise((resolve) =>
          functions[token]!(withPlaceholders(fact.inputs)).apply(() => resolve()),
        ),
    );
    const [call] = recorder.calls;
    expect(call).toMatchObject({
      token,
      version: packageJson.version,
      url: packageJson.pulumi.server,
    });
    expect(Object.keys(call!.args).sort()).toEqual(fact.inputs);
  });
});

/**
 * Members of the interfaces in a file, `namespace.Interface` -> member (with `?` if optional) -> type in the
 * file's notation.
 */
function interfacesIn(file: string): Record<string, Record<string, string>> {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(sdk, file), "utf8"),
    ts.ScriptTarget.ES2022,
    true,
  );
  const interfaces: Record<string, Record<string, string>> = {};
  const visit = (node: ts.Node, prefix: string): void => {
    if (ts.isModuleDeclaration(node) && node.body) {
      node.body.forEachChild((child) => visit(child, `${node.name.getText()}.`));
    } else if (ts.isInterfaceDeclaration(node)) {
      const members = node.members.filter(ts.isPropertySignature);
      interfaces[prefix + node.name.text] = Object.fromEntries(
        members.map((member) => [
          member.name.getText() + (member.questionToken ? "?" : ""),
          member.type!.getText().replace(/\s+/g, " "),
        ]),
      );
    }
  };
  source.forEachChild((node) => visit(node, ""));
  return interfaces;
}

test.each(["input", "output"] as const)("types.%s equal the published package's types", (side) => {
  const sdkTypes = interfacesIn(`types/${side}.ts`);
  const publishedTypes: Record<string, object> = facts.types[side];
  expect(Object.keys(sdkTypes)).toContain("machine.ClientConfiguration");
  expect(sdkTypes).toEqual(
    Object.fromEntries(Object.keys(sdkTypes).map((name) => [name, publishedTypes[name]])),
  );
});

test.each(Object.entries({ ...facts.resources, ...facts.functions }))(
  "the argument and result interfaces of %s equal the published ones",
  (token, fact) => {
    const [, module = "", name = ""] = /^talos:(.*):(.*)$/.exec(token) ?? [];
    const sdkInterfaces = interfacesIn(`${module.replace("imageFactory", "imagefactory")}.ts`);
    const base = name[0]!.toUpperCase() + name.slice(1);
    const memberNames = (names: string[], required: string[]): string[] =>
      names.map((member) => (required.includes(member) ? member : `${member}?`));
    const isFunction = token in facts.functions;
    const argsInterface = isFunction ? `${base}OutputArgs` : `${base}Args`;
    expect(Object.keys(sdkInterfaces[argsInterface]!).sort()).toEqual(
      memberNames(fact.inputs, fact.requiredInputs).sort(),
    );
    const resultInterface = sdkInterfaces[`${base}Result`];
    expect(resultInterface && Object.keys(resultInterface).sort()).toEqual(
      isFunction ? memberNames(fact.outputs, fact.requiredOutputs).sort() : undefined,
    );
  },
);
