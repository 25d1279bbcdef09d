import * as pulumi from "@pulumi/pulumi";
import { GpuCluster } from "../../components/index";
import { record, type RegisteredResource } from "../../tests/support/recorder";
import {
  kubeconfig,
  machineSecrets,
  providerAnswers,
  talosconfig,
} from "../../tests/support/talos";
import { fleetOf, isOwned, nodeName } from "../fleet";
import { measure } from "../measured";

// `registration.ts component|again|plain COUNT`: registers a fleet on a monitor in this process. `component` uses the
// component, and `again` adds a `reconcileToken`. `plain` registers as many resources of Pulumi's SDK, with the same
// types and inputs as finished data.

type Program = (count: number) => unknown;

const component: Program = (count) =>
  new GpuCluster("gpu", { ...fleetOf(count), talosconfig, machineSecrets, kubeconfig });

const componentWithToken: Program = (count) =>
  new GpuCluster("gpu", {
    ...fleetOf(count),
    talosconfig,
    machineSecrets,
    kubeconfig,
    reconcileToken: "bench",
  });

/** Machines that are registered before the measurement, so that both programs have loaded and compiled their code. */
const warmUp = 10;

/** Registers a sample, and gives the registered resources. */
async function sampleOf(program: Program): Promise<RegisteredResource[]> {
  const run = await record(() => void program(warmUp), providerAnswers);
  if (run.error) throw run.error;
  // The SDK registers the stack itself.
  return run.resources.filter(({ type }) => type !== "pulumi:pulumi:Stack");
}

/** Registers on a monitor without records, and gives the number of resources. */
async function countRegistered(program: Program, count: number): Promise<number> {
  let registered = 0;
  const { error } = await record(() => void program(count), {
    ...providerAnswers,
    recordsCallsOnly: true,
    outputs: (resource) => {
      registered++;
      return providerAnswers.outputs(resource);
    },
  });
  if (error) throw error;
  return registered;
}

/**
 * The plain program: the resources that the component registers for a small fleet, repeated for the machines of a
 * larger one.
 */
function plainProgramOf(resources: readonly RegisteredResource[]): Program {
  const shared = resources.filter(({ name }) => !/gpu-\d{4}/.test(name));
  const resourcesOf = (index: number): RegisteredResource[] =>
    resources.filter(({ name }) => name.includes(nodeName(index)));
  // The schematic is named after the first machine, and a fleet of equal machines has only one.
  const perMachine = new Map(
    [2, 3].map((index) => [
      isOwned(index),
      { node: nodeName(index), resources: resourcesOf(index) },
    ]),
  );
  const schematics = resourcesOf(0).filter(({ type }) => type.endsWith(":Schematic"));
  return (count) => {
    for (const resource of [...schematics, ...shared])
      registerPlain(resource, resource.name, undefined, undefined);
    for (let index = 0; index < count; index++) {
      const { node, resources: templates } = perMachine.get(isOwned(index))!;
      let parent: pulumi.Resource | undefined;
      let previous: pulumi.Resource | undefined;
      for (const template of templates) {
        const resource = registerPlain(
          template,
          template.name.replace(node, nodeName(index)),
          parent,
          previous,
        );
        if (template.custom) previous = resource;
        else parent = resource;
      }
    }
  };
}

class PlainResource extends pulumi.CustomResource {}

function registerPlain(
  { type, custom, inputs }: RegisteredResource,
  name: string,
  parent: pulumi.Resource | undefined,
  previous: pulumi.Resource | undefined,
): pulumi.Resource {
  const options = { ...(parent ? { parent } : {}), ...(previous ? { dependsOn: previous } : {}) };
  const data = asPlainData(inputs) as Record<string, unknown>;
  if (!custom) return new pulumi.ComponentResource(type, name, data, options);
  return new PlainResource(type, name, data, options);
}

/** Mark of a secret in what the SDK sends to the engine (pulumi/pulumi, sdk/nodejs/runtime/rpc.ts). */
const secretMark = "4dabf18193072939515e22adb298388d";

/** The inputs as data, with secrets as plain texts. */
function asPlainData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asPlainData);
  if (typeof value !== "object" || value === null) return value;
  if (secretMark in value && "value" in value) return asPlainData(value.value);
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, asPlainData(child)]));
}

async function main(which: string, count: number): Promise<void> {
  const sample = await sampleOf(component);
  const plainProgram = plainProgramOf(sample);
  const plainSample = await sampleOf(plainProgram);
  if (plainSample.length !== sample.length)
    throw new Error(
      `the component registered ${sample.length} resources, and the plain program ${plainSample.length}`,
    );
  const program = { component, again: componentWithToken, plain: plainProgram }[which];
  if (program === undefined)
    throw new Error(`program ${which}: there is none of this name; take component, again or plain`);
  await measure(async () => {
    const registered = await countRegistered(program, count);
    if (registered < count * 5) throw new Error(`${which} registered ${registered} resources only`);
  });
}

void main(process.argv[2] ?? "", Number(process.argv[3]));
