import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { hooksAreThere } from "../pulumi/hooks";
import { resourceNames } from "../machine/create-machine";
import { STAYS_CORDONED } from "../program/task";
import { describeProgress, UpdateProgress } from "../recipe/effect/progress";

/**
 * When an update fails, tells what became of each machine. The program itself cannot: the engine ends it before it learns of the failure. So
 * Pulumi's hooks tell it, which the engine waits for: once before the failure counts (`onError`), and again when the last machine in progress
 * is done. An update that succeeds tells nothing.
 */
export class UpdateSummary {
  private readonly progress: UpdateProgress;
  /** Machine by the name of each of its resources. */
  private readonly machineOf = new Map<string, string>();
  private readonly upgrades: Set<string>;
  private readonly hooks: pulumi.ResourceHookBinding | undefined;
  // Each inline program of a process has an asynchronous store of its own; the engine calls back outside of it.
  private readonly tell = AsyncResource.bind((): void => {
    void pulumi.log.warn(describeProgress(this.progress.standings()));
  });

  /**
   * @param name of the cluster.
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

  /** Adds these hooks to the machines' resources and the gates, wherever below the component they are. */
  watching(opts: pulumi.ComponentResourceOptions = {}): pulumi.ComponentResourceOptions {
    const { hooks } = this;
    if (hooks === undefined) return opts;
    const watch: pulumi.ResourceTransformation = ({ name, props, opts: own }) =>
      this.machineOf.has(name) || isGate.test(name)
        ? { props, opts: pulumi.mergeOptions(own, { hooks }) }
        : undefined;
    return { ...opts, transformations: [...(opts.transformations ?? []), watch] };
  }

  /** Takes note that a machine is done, or had nothing to do; undefined without hooks, as in a preview. */
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
      if (this.progress.over()) this.tell();
    });
    const fails = new pulumi.ErrorHook(`${name}-fails`, ({ name: resource, errors }) => {
      const cordoned = errors.some((text) => text.includes(STAYS_CORDONED));
      this.progress.fails(this.machineOf.get(resource), cordoned);
      this.tell();
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
