import { releaseInTables } from "../recipe/facts/talos-release";
import { filled, isMapping, listOf } from "../recipe/mapping";
import { defaultFactoryUrl, factoryAt, readExtensions } from "../recipe/facts/factory";
import type { ReleaseFactsSpec, StackSpec } from "../recipe/spec/index";

/** Time limits and retries for requests to the Image Factory. */
export interface Patience {
  /** Time limit in milliseconds for one answer. */
  timeout: number;
  /** Milliseconds before each retry. */
  pauses: number[];
}

/** Half a minute in total at most, because every preview waits for the answers. */
const patience: Patience = { timeout: 8_000, pauses: [500, 2_000] };

/** A stack before its checks, with its kubeconfig: the input of all lookups. */
export type AskedStack = { [Field in keyof StackSpec | "kubeconfig"]?: unknown };

/** The Factory's answers for the stack's release, and for other releases of machines and pools. */
export type Facts = Pick<StackSpec, "releaseFacts" | "otherReleaseFacts">;

/** Largest number of releases that a preview asks for; each is one request. */
const mostReleases = 16;

/**
 * Asks the Image Factory for drivers, toolkit and extensions of a stack's Talos releases, with all requests at the same
 * time. It asks for at most `mostReleases` releases: those of a known minor that are newer than the tables, and for
 * which the stack has no facts. Never fails: if the Factory does not answer, the facts contain the reason (`silent`),
 * and the recipe assumes values.
 */
export async function askFactory(
  stack: AskedStack,
  environment: NodeJS.ProcessEnv = process.env,
  patienceOfCall: Patience = patience,
): Promise<Facts> {
  const { talosVersion, factoryUrl, releaseFacts, otherReleaseFacts } = stack;
  const statedReleases = new Set([releaseFacts, ...listOf(otherReleaseFacts)].map(releaseOf));
  const newerReleases = releasesOf(stack).filter(
    (name) => releaseInTables(name) === "newer" && !statedReleases.has(name),
  );
  const factory = factoryAt(
    typeof factoryUrl === "string" ? factoryUrl : defaultFactoryUrl,
    environment,
  );
  const answers = await Promise.all(
    newerReleases.slice(0, mostReleases).map((name) => factsOf(name, factory, patienceOfCall)),
  );
  const factsOfStack =
    releaseFacts === undefined
      ? answers.find((facts) => facts.talosVersion === talosVersion)
      : undefined;
  const otherFacts = answers.filter((facts) => facts !== factsOfStack);
  const statedFacts = listOf(otherReleaseFacts) as ReleaseFactsSpec[];
  return filled({
    releaseFacts: factsOfStack,
    otherReleaseFacts: otherFacts.length === 0 ? [] : [...statedFacts, ...otherFacts],
  });
}

/** Every release that a stack names, without duplicates. */
function releasesOf({ talosVersion, machines, machineDefaults, pools }: AskedStack): string[] {
  const holders = [
    machineDefaults,
    ...[machines, pools].flatMap((all) => (isMapping(all) ? Object.values(all) : [])),
  ];
  const names = [talosVersion, ...holders.map(releaseOf)];
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

const releaseOf = (value: unknown): unknown =>
  isMapping(value) ? value["talosVersion"] : undefined;

async function factsOf(
  talosVersion: string,
  factory: string,
  { timeout, pauses }: Patience,
): Promise<ReleaseFactsSpec> {
  const url = `${factory}/version/${talosVersion}/extensions/official`;
  let silenceText = "";
  for (const pause of [0, ...pauses]) {
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(timeout) });
      if (response.status === 404) return { talosVersion, missing: true };
      if (response.ok) return { talosVersion, ...readExtensions(await response.json()) };
      silenceText = `it answers ${response.status}`;
    } catch (error) {
      silenceText = reasonOf(error);
    }
  }
  return { talosVersion, silent: silenceText };
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string } };
  if (name === "TimeoutError") return "it does not answer in time";
  return cause?.code ?? message.split("\n")[0] ?? name;
}
