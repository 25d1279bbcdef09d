/** What of Pulumi's package schema the comparison reads. */
export interface ApiSchema {
  version?: string;
  resources?: Record<string, ResourceShape>;
  types?: Record<string, TypeShape>;
}

interface PropertyShape {
  type?: string;
  $ref?: string;
  items?: PropertyShape;
  additionalProperties?: PropertyShape;
  plain?: boolean;
}

type Properties = Record<string, PropertyShape>;

interface TypeShape {
  properties?: Properties;
  required?: string[];
  enum?: { value: unknown }[];
}

interface ResourceShape extends TypeShape {
  inputProperties?: Properties;
  requiredInputs?: string[];
}

/**
 * What a program that was written for one schema would trip over with another: what is gone, what is of another type, what has
 * become required. What is new breaks nobody.
 *
 * @returns one line for each, e.g. `Ollama.models is gone`
 */
export function breakingChanges(before: ApiSchema, after: ApiSchema): string[] {
  return [
    ...each(before.resources, after.resources, (name, was, is) => [
      ...inputs(name, was.inputProperties, is.inputProperties, was.requiredInputs, is.requiredInputs),
      ...outputs(name, was, is),
    ]),
    // A type may be an input and an output: both kinds of change break somebody.
    ...each(before.types, after.types, (name, was, is) => [
      ...inputs(name, was.properties, is.properties, was.required, is.required),
      ...(was.enum ?? [])
        .filter(({ value }) => is.enum?.every((other) => other.value !== value))
        .map(({ value }) => `${name} has no ${String(value)} any more`),
    ]),
  ];
}

function each<Shape>(
  before: Record<string, Shape> = {},
  after: Record<string, Shape> = {},
  compare: (name: string, was: Shape, is: Shape) => string[],
): string[] {
  return Object.entries(before).flatMap(([token, was]) => {
    const name = token.split(":").at(-1) ?? token;
    const is = after[token];
    return is === undefined ? [`${name} is gone`] : compare(name, was, is);
  });
}

function inputs(
  name: string,
  before: Properties = {},
  after: Properties = {},
  requiredBefore: readonly string[] = [],
  requiredAfter: readonly string[] = [],
): string[] {
  return [
    ...changed(name, before, after, "given"),
    ...requiredAfter.filter((key) => !requiredBefore.includes(key)).map((key) => `${name}.${key} has become required`),
  ];
}

function outputs(name: string, was: ResourceShape, is: ResourceShape): string[] {
  const lost = (was.required ?? []).filter((key) => is.properties?.[key] && !is.required?.includes(key));
  return [
    ...changed(`${name} (output)`, was.properties ?? {}, is.properties ?? {}, "read"),
    ...lost.map((key) => `${name} (output).${key} may be missing`),
  ];
}

function changed(name: string, before: Properties, after: Properties, direction: "given" | "read"): string[] {
  return Object.entries(before).flatMap(([key, was]) => {
    const is = after[key];
    if (is === undefined) return [`${name}.${key} is gone`];
    const [old, now] = [typeOf(was), typeOf(is)];
    // Whoever gave a value of one type may give it where any is taken; who reads one has to ask from then on.
    const widened = direction === "given" && now === "Any";
    return old === now || widened ? [] : [`${name}.${key} is ${now}, and was ${old}`];
  });
}

function typeOf({ type, $ref, items, additionalProperties, plain }: PropertyShape): string {
  const inner = items ?? additionalProperties;
  const own = $ref?.split("/").at(-1) ?? type ?? "anything";
  // A plain input takes no output; to lift that breaks nobody, but in a generated SDK it is another type.
  return `${plain ? "plain " : ""}${own}${inner === undefined ? "" : ` of ${typeOf(inner)}`}`;
}
