import { setTimeout as pause } from "node:timers/promises";
import { examine } from "../../../cli/doctor/examine";
import type { DoctorReport } from "../../../cli/doctor/report";
import { planCluster, type GpuSpec, type Plan } from "../../../components/recipe";
import { clusterOf } from "../../../stacks/stack-file";
import { labTimeouts } from "../../clock";
import { Cluster } from "../../providers/kubernetes/cluster";
import type { Say } from "../../phases";
import type { Running } from "../../run/running";
import type { StackConfiguration } from "../../run/stack-configuration";
import { engineConfig, preview, update } from "../../run/updates";
import type { Card } from "./card";
import { stackOf, type Shape } from "./shape";

/** Milliseconds between two looks at what cannot be watched. */
const every = 250;
/** Seconds that the calls of one look may take. */
const oneLook = 20;

/** The stack of a shape as the lab runs it. */
export function configurationOf(gpus: readonly GpuSpec[], shape: Shape, timeScale: number): StackConfiguration {
  const config = { ...stackOf(gpus, shape), timeouts: labTimeouts(timeScale) };
  return { config, spec: clusterOf(config) };
}

/** A lab with a real node, and what cases do with it. */
export class Stand {
  readonly cluster: Cluster;
  private shape: Shape | undefined;
  /** How often the stack was told to look again. */
  private looks = 0;

  constructor(
    readonly lab: Running,
    readonly gpus: readonly GpuSpec[],
    /** The cards of this computer as they are; undefined with the stand-in of the driver. */
    readonly cards: (() => Card[]) | undefined,
    readonly mayChangeTheCard: boolean,
  ) {
    this.cluster = Cluster.of(lab.controlPlane.adminKubeconfig);
  }

  get signal(): AbortSignal {
    return this.lab.session.signal;
  }

  get plan(): Plan {
    return planCluster(this.lab.spec);
  }

  /** Number of cards of the node. */
  get count(): number {
    return this.gpus.reduce((sum, { count = 1 }) => sum + count, 0);
  }

  /** Seconds that the update to a shape took; nothing is done where the stack has it already. */
  async become(shape: Shape, say: Say): Promise<{ seconds: number; warnings: string[] }> {
    if (JSON.stringify(shape) === JSON.stringify(this.shape)) return { seconds: 0, warnings: [] };
    this.shape = undefined;
    await this.configure(shape);
    const { report, diagnostics } = await update(this.lab, this.lab.engine, say);
    this.signal.throwIfAborted();
    this.lab.report.updates.push(report);
    if (report.result === "failed") throw new Error(`the update failed: ${errorsIn(diagnostics)}`);
    this.shape = shape;
    return { seconds: report.seconds, warnings: diagnostics.filter((line) => line.startsWith("warning")) };
  }

  /** What the preview of a shape says that it is refused for; "" where it is not. The stack stays as it is. */
  async refusal(shape: Shape, say: Say): Promise<string> {
    const before = this.shape ?? {};
    await this.configure(shape);
    const { report, diagnostics } = await preview(this.lab, this.lab.engine, say);
    await this.configure(before);
    return report.result === "failed" ? errorsIn(diagnostics) : "";
  }

  /** Puts back what somebody did by hand, as the doctor advises. */
  async lookAgain(say: Say): Promise<void> {
    const shape = this.shape ?? {};
    this.shape = undefined;
    this.looks++;
    await this.become(shape, say);
  }

  private async configure(shape: Shape): Promise<void> {
    this.lab.earlier.push(this.plan);
    Object.assign(this.lab, this.stackOf(shape));
    await this.lab.engine.configure({ ...engineConfig(this.lab), ...(shape.markers ? { "lab:markers": true } : {}) });
  }

  private stackOf(shape: Shape): StackConfiguration {
    const again = this.looks === 0 ? {} : { lookAgain: `look ${this.looks}` };
    return configurationOf(this.gpus, { ...shape, ...again }, this.lab.options.timeScale);
  }

  /** What `talos-gpu doctor --stack` says of the cluster. */
  doctor(): Promise<DoctorReport> {
    const { kubernetes, tools, session } = this.lab;
    const machines = {
      talosctl: tools.talosctl,
      talosconfig: session.dir("talosconfig"),
      secrets: [],
      patience: oneLook * 1000,
    };
    return examine({ kubeconfig: kubernetes.config, machines, leftOut: [] }, this.plan, oneLook * 1000);
  }

  /** Looks until the doctor's status is as wanted; gives the last report. */
  async doctorUntil(wanted: (report: DoctorReport) => boolean, seconds: number): Promise<DoctorReport> {
    let report = await this.doctor();
    await this.until(
      seconds,
      async () => wanted((report = await this.doctor())),
      () => wanted(report),
    );
    return report;
  }

  /** Units of a resource that the node offers. */
  async units(resource = this.plan.kubernetes.resourceName): Promise<number> {
    const { gpu } = await this.lab.kubernetes.nodes();
    return Number(gpu?.status?.allocatable?.[resource] ?? 0);
  }

  /** Seconds until something holds; undefined when it does not within the limit. */
  async until(
    seconds: number,
    ask: () => Promise<boolean>,
    already: () => boolean = () => false,
  ): Promise<number | undefined> {
    const begin = performance.now();
    const took = (): number => Math.round((performance.now() - begin) / 100) / 10;
    if (already()) return took();
    for (;;) {
      if (await ask()) return took();
      if (took() > seconds) return undefined;
      await pause(every, undefined, { signal: this.signal });
    }
  }
}

/** The first error of an update in one line. */
function errorsIn(diagnostics: readonly string[]): string {
  const errors = diagnostics.filter((line) => line.startsWith("error"));
  return errors.slice(0, 2).join("; ").replace(/\s+/g, " ") || "without a word";
}
