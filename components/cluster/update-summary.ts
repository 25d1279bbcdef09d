import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { hooksAreThere } from "../pulumi/hooks";
import { resourceNames } from "../machine/create-machine";
import { STAYS_CORDONED } from "../program/task";
import { describeProgress, UpdateProgress } from "../recipe/effect/progress";

/**
 * Prints the state of each machine if an update fails. The engine ends the Pulumi program before the program could
 * react to a failure, but waits for resource hooks. So hooks print the summary: once when a resource fails (`onError`),
 * and again when the last machine in progress is complete. A successful update prints nothing.
 */
export class UpdateSummary {
  private readonly progress: UpdateProgress;
  /** Name of the machine to which a resource belongs, by the resource's name. */
  private readonly machineOf = new Map<string, string>();
  private readonly upgrades: Set<string>;
  private readonly hooks: pulumi.ResourceHookBinding | undefined;
  // Each inline program of a process has its own asynchronous store; the engine calls the hook outside of it.
  private readonly reportProgress = AsyncResource.bind((): void => {
    void pulumi.log.warn(describeProgress(this.progress.machineResults()));
  });

  /**
   * @param name name of the cluster.
   * @param machines node names, in the order of the update.
   */
  constructor(name: string, machines: string[]) {
    this.progress = new UpdateProgress(machines);
    for (const machine of machines)
      for (const resource of Object.values(resourceNames(`${name}-${machine}`)))
        this.machineOf.set(resource, machine);
    this.upgrades = new Set(machines.map((machine) => resourceNames(`${name}-${machine}`).upgrade));
    this.hooks =
      hooksAreThere("registerErrorHook") && !pulumi.runtime.isDryRun()
        ? this.hooksOf(name)
        : undefined;
  }

  /** Options that add the hooks to the resources of machines and gates, at any depth below the component. */
  watching(opts: pulumi.ComponentResourceOptions = {}): pulumi.ComponentResourceOptions {
    const { hooks } = this;
    if (hooks === undefined) return opts;
    const addHooks: pulumi.ResourceTransformation = ({ name, props, opts: resourceOpts }) =>
      this.machineOf.has(name) || isGate.test(name)
        ? { props, opts: pulumi.mergeOptions(resourceOpts, { hooks }) }
        : undefined;
    return { ...opts, transformations: [...(opts.transformations ?? []), addHooks] };
  }

  /**
   * Function that records a machine as complete, also if the machine had nothing to do; undefined without hooks, as in
   * a preview.
   */
  get settled(): ((machine: string) => void) | undefined {
    return this.hooks && ((machine) => this.progress.settles(machine));
  }

  private hooksOf(name: string): pulumi.ResourceHookBinding {
    const begins = new pulumi.ResourceHook(`${name}-begins`, ({ name: resource }) => {
      const machine = this.machineOf.get(resource);
      if (machine !== undefined) this.progress.begins(machine, resource);
    });
    const ends = new pulumi.ResourceHook(`${name}-ends`, ({ name: resource }) => {
      const machine = this.machineOf.get(resource);
      if (machine !== undefined) this.progress.ends(machine, resource, this.upgrades.has(resource));
      if (this.progress.isOver()) this.reportProgress();
    });
    const fails = new pulumi.ErrorHook(`${name}-fails`, ({ name: resource, errors }) => {
      const cordoned = errors.some((text) => text.includes(STAYS_CORDONED));
      this.progress.fails(this.machineOf.get(resource), cordoned);
      this.reportProgress();
      return false; // no retry: the next update tries again
    });
    return {
      beforeCreate: [begins],
      beforeUpdate: [begins],
      afterCreate: [ends],
      afterUpdate: [ends],
      onError: [fails],
    };
  }
}

const isGate = /-gate$/;
