import { type EngineEvent } from "@pulumi/pulumi/automation";
import { inSources } from "../bundle/bundle";

/** Numbers of resources in an update, by operation. A replacement counts once, as `replace`. */
export interface Changes {
  create: number;
  update: number;
  replace: number;
  delete: number;
  same: number;
}

/** Reports of a running update. */
export type Progress =
  | {
      readonly kind: "resource";
      readonly state: "started" | "done" | "failed";
      /** The engine's name of the operation, e.g. `create`, `same`, `create-replacement`. */
      readonly op: string;
      readonly urn: string;
      readonly type: string;
      readonly name: string;
    }
  | {
      /** A line for the user, from the engine, the program or a resource. */
      readonly kind: "message";
      readonly severity: "info" | "info#err" | "warning" | "error";
      readonly message: string;
      /** Resource that it is about; absent for the whole update. */
      readonly urn?: string;
      /** Whether it is a status that the next one replaces. */
      readonly ephemeral: boolean;
    };

type Message = Extract<Progress, { kind: "message" }>;

/** Collects an update's counts and messages from its events. */
export class EventRecord {
  private readonly operations: string[] = [];
  private readonly messages: Message[] = [];
  private readonly violations: string[] = [];
  private summary: Record<string, number> | undefined;
  policyPacks: readonly string[] = [];

  constructor(private readonly onProgress: (progress: Progress) => void) {}

  add(event: EngineEvent): void {
    if (event.resourcePreEvent) this.resource("started", event.resourcePreEvent.metadata);
    if (event.resOutputsEvent) this.resource("done", event.resOutputsEvent.metadata);
    if (event.resOpFailedEvent) this.resource("failed", event.resOpFailedEvent.metadata);
    if (event.diagnosticEvent) this.message(event.diagnosticEvent);
    if (event.policyEvent) this.violation(event.policyEvent);
    if (event.summaryEvent) {
      this.summary = { ...event.summaryEvent.resourceChanges };
      // The CLI writes this one name in capitals (sdk/go/common/apitype/events.go, SummaryEvent), and the SDK's types
      // do not.
      const { PolicyPacks } = event.summaryEvent as { PolicyPacks?: Record<string, string> };
      // A pack from a folder is `name|local|folder` there.
      this.policyPacks = Object.keys(PolicyPacks ?? {}).map((name) => name.split("|")[0]!);
    }
  }

  /** The engine's own count; after an interrupted update, the operations that were done. */
  get changes(): Changes {
    const counts: Record<string, number> = {};
    for (const op of this.operations) counts[op] = (counts[op] ?? 0) + 1;
    const totals = this.summary ?? { ...counts, replace: counts["create-replacement"] ?? 0 };
    return {
      create: totals["create"] ?? 0,
      update: totals["update"] ?? 0,
      replace: totals["replace"] ?? 0,
      delete: totals["delete"] ?? 0,
      same: totals["same"] ?? 0,
    };
  }

  /** Lines for the report: errors, warnings, the program's log messages and violated policies. */
  get diagnostics(): string[] {
    const lines = this.messages.map(({ severity, message, urn }) => {
      const subject = urn ? ` ${nameOf(urn)} (${typeOf(urn)})` : "";
      return `${severity}${subject}: ${message}`;
    });
    return [...lines, ...this.violations];
  }

  private violation(event: NonNullable<EngineEvent["policyEvent"]>): void {
    const { resourceUrn = "", policyName, message, enforcementLevel } = event;
    const subject = resourceUrn === "" ? "" : ` ${nameOf(resourceUrn)} (${typeOf(resourceUrn)})`;
    this.violations.push(
      `${enforcementLevel} policy ${policyName}${subject}: ${plainText(message)}`,
    );
  }

  private resource(
    state: "started" | "done" | "failed",
    { op, urn, type }: { op: string; urn: string; type: string },
  ) {
    if (state === "done") this.operations.push(op);
    this.onProgress({ kind: "resource", state, op, urn, type, name: nameOf(urn) });
  }

  private message(event: NonNullable<EngineEvent["diagnosticEvent"]>): void {
    const message: Message = {
      kind: "message",
      severity: event.severity,
      message: plainText(event.message),
      ...(event.urn ? { urn: event.urn } : {}),
      ephemeral: event.ephemeral ?? false,
    };
    if (message.message === "" || (event.severity as string) === "debug") return;
    if (!message.ephemeral) this.messages.push(message);
    this.onProgress(message);
  }
}

const nameOf = (urn: string): string => urn.split("::").slice(3).join("::");
const typeOf = (urn: string): string => urn.split("::")[2]?.split("$").pop() ?? "";

// Colours travel as `<{%fg 1%}>` (sdk/go/common/diag/colors).
const plainText = (message: string): string =>
  inSources(message.replace(/<\{%[^%]*%\}>/g, "").trimEnd());
