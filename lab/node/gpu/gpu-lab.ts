import { examine } from "../../../cli/doctor/examine";
import type { DoctorReport } from "../../../cli/doctor/report";
import { offeredBy } from "../../../components/clients/kubernetes/devices";
import { planCluster, type GpuSpec, type Plan } from "../../../components/recipe";
import { clusterOf } from "../../../stacks/stack-file";
import { labTimeouts } from "../../clock";
import type { Cluster } from "../../kubernetes/cluster";
import type { LabOptions } from "../../options";
import type { Say } from "../../phases";
import type { RunningLab } from "../../run/running-lab";
import { withServedImages } from "../../run/served-images";
import type { StackConfiguration } from "../../run/stack-configuration";
import { engineConfig, preview, update } from "../../run/updates";
import { onNode } from "../on-node";
import { until } from "../../until";
import type { Card } from "./card";
import { nodeName, stackOf, type Shape } from "./shape";

/** Milliseconds within which the calls of one inspection must end. */
const inspectionLimit = 20_000;

/** The stack of a shape, with the lab's settings. */
export function configurationOf(
  gpus: readonly GpuSpec[],
  shape: Shape,
  options: Pick<LabOptions, "timeScale" | "machines" | "card">,
): StackConfiguration {
  const config = {
    ...withServedImages(stackOf(gpus, shape), options),
    timeouts: labTimeouts(options),
  };
  return { config, spec: clusterOf(config) };
}

/** A lab with a real node, and the operations of cases on it. */
export class GpuLab {
  readonly node = nodeName;
  private shape: Shape | undefined;

  constructor(
    readonly runningLab: RunningLab,
    readonly gpus: readonly GpuSpec[],
    /** The cards of this computer; undefined with the stand-in of the driver. */
    readonly cards: (() => Card[]) | undefined,
    readonly mayChangeTheCard: boolean,
  ) {}

  get signal(): AbortSignal {
    return this.runningLab.session.signal;
  }

  get plan(): Plan {
    return planCluster(this.runningLab.spec);
  }

  get cluster(): Cluster {
    return this.runningLab.kubernetes;
  }

  get talos(): { talosctl: string; talosconfig: string } {
    const { tools, session } = this.runningLab;
    return { talosctl: tools.talosctl, talosconfig: session.dir("talosconfig") };
  }

  /** The report of `talos-gpu doctor --stack`. Reading the machines takes most of its time: one process per call. */
  doctor({ readMachines }: { readMachines: boolean }): Promise<DoctorReport> {
    const machines = readMachines
      ? { machines: { ...this.talos, secrets: [], patience: inspectionLimit } }
      : {};
    return examine(
      { kubeconfig: this.cluster.kubeconfig, ...machines, leftOut: [] },
      this.plan,
      inspectionLimit,
    );
  }

  onNode(command: string): Promise<string> {
    return onNode(this.runningLab.session.dir(), command);
  }

  get cardCount(): number {
    return this.gpus.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** Updates the stack to a shape, unless it has that shape. Gives the seconds of the update. */
  async updateTo(shape: Shape, say: Say): Promise<{ seconds: number; warnings: string[] }> {
    if (JSON.stringify(shape) === JSON.stringify(this.shape)) return { seconds: 0, warnings: [] };
    this.shape = undefined;
    await this.configure(shape);
    const { report, diagnostics } = await update(this.runningLab, this.runningLab.engine, say);
    this.signal.throwIfAborted();
    this.runningLab.report.updates.push(report);
    if (report.result === "failed") throw new Error(`the update failed: ${errorsIn(diagnostics)}`);
    this.shape = shape;
    return {
      seconds: report.seconds,
      warnings: diagnostics.filter((line) => line.startsWith("warning")),
    };
  }

  /** The preview's reason for refusing a shape; empty if it accepts it. The stack does not change. */
  async previewErrors(shape: Shape, say: Say): Promise<string> {
    const currentShape = this.shape ?? {};
    await this.configure(shape);
    const { report, diagnostics } = await preview(this.runningLab, this.runningLab.engine, say);
    await this.configure(currentShape);
    return report.result === "failed" ? errorsIn(diagnostics) : "";
  }

  private async configure(shape: Shape): Promise<void> {
    this.runningLab.earlierPlans.push(this.plan);
    Object.assign(this.runningLab, configurationOf(this.gpus, shape, this.runningLab.options));
    await this.runningLab.engine.configure({
      ...engineConfig(this.runningLab),
      ...(shape.markers ? { "lab:markers": true } : {}),
    });
  }

  async offeredUnits(resource = this.plan.kubernetes.resourceName): Promise<number> {
    const [nodes, slices] = await Promise.all([this.cluster.nodes(), this.cluster.slices()]);
    const node = nodes[nodeName];
    return Number((node && offeredBy(node, slices)[resource]) ?? 0);
  }

  async waitFor(seconds: number, condition: () => Promise<boolean>): Promise<boolean> {
    return (await until({ seconds, signal: this.signal }, condition, Boolean)).holds;
  }
}

function errorsIn(diagnostics: readonly string[]): string {
  const errors = diagnostics.filter((line) => line.startsWith("error"));
  return errors.slice(0, 2).join("; ").replace(/\s+/g, " ") || "without a message";
}
