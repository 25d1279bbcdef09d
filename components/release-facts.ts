import { releaseInTables } from "./recipe/facts/talos-release";
import { readExtensions } from "./recipe/facts/factory-answer";
import type { ReleaseFactsSpec } from "./recipe/stack/spec/index";

/** Image Factory when the stack names none. */
const defaultFactoryUrl = "https://factory.talos.dev";

/** How often and how long the Factory is asked. */
export interface Patience {
  /** Milliseconds for one answer. */
  timeout: number;
  /** Milliseconds before each further try. */
  pauses: number[];
}

/** Half a minute at the most, since every preview waits for it. */
const patience: Patience = { timeout: 8_000, pauses: [500, 2_000] };

/** What decides whether the Factory is asked, and which; other fields of a stack do not matter. */
export interface AskedStack {
  talosVersion?: unknown;
  factoryUrl?: unknown;
  releaseFacts?: unknown;
}

/**
 * What the Image Factory says of a stack's Talos release: drivers, toolkit and extensions. Asks only of a release that the
 * tables do not have, and of which the stack says nothing itself (`releaseFacts`); undefined otherwise. Never fails: a Factory
 * that does not answer is an answer (`silent`), and the recipe assumes then.
 *
 * TALOS_GPU_FACTORY leads to another Factory than the stack's, as the lab's.
 */
export async function askFactory(
  stack: AskedStack,
  environment: NodeJS.ProcessEnv = process.env,
  { timeout, pauses }: Patience = patience,
): Promise<ReleaseFactsSpec | undefined> {
  const { talosVersion, factoryUrl, releaseFacts } = stack;
  if (typeof talosVersion !== "string" || releaseFacts !== undefined) return undefined;
  if (releaseInTables(talosVersion) !== "newer") return undefined;
  const said = typeof factoryUrl === "string" ? factoryUrl : defaultFactoryUrl;
  const url = `${(environment["TALOS_GPU_FACTORY"] ?? said).replace(/\/+$/, "")}/version/${talosVersion}/extensions/official`;
  let silent = "";
  for (const pause of [0, ...pauses]) {
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(timeout) });
      if (response.status === 404) return { talosVersion, missing: true };
      if (response.ok) return { talosVersion, ...readExtensions(await response.json()) };
      silent = `it answers ${response.status}`;
    } catch (error) {
      silent = reasonOf(error);
    }
  }
  return { talosVersion, silent };
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string } };
  if (name === "TimeoutError") return "it does not answer in time";
  return cause?.code ?? message.split("\n")[0] ?? name;
}
