import { createRequire } from "node:module";
import { isDeepStrictEqual } from "node:util";
import type * as emptyMessages from "google-protobuf/google/protobuf/empty_pb";
import type * as structMessages from "google-protobuf/google/protobuf/struct_pb";
import { z } from "zod";
import type { Properties } from "./provider";

// Messages of two releases of google-protobuf cannot be mixed, so this uses the SDK's release.
const sdkRequire = createRequire(require.resolve("@pulumi/pulumi"));

/** Well-known protobuf messages, from the SDK's release. */
interface SdkMessages {
  empty_pb: typeof emptyMessages;
  struct_pb: typeof structMessages;
}

/** Loads the messages of one well-known file, e.g. `empty_pb`. */
export const sdkMessage = <File extends keyof SdkMessages>(file: File): SdkMessages[File] =>
  sdkRequire(`google-protobuf/google/protobuf/${file}.js`) as SdkMessages[File];

const { Struct } = sdkMessage("struct_pb");
/** A message of encoded values. */
export type Struct = InstanceType<SdkMessages["struct_pb"]["Struct"]>;

// Signatures of the wire format: github.com/pulumi/pulumi sdk/go/common/resource/properties.go and sdk/nodejs/runtime/rpc.ts.
const signature = "4dabf18193072939515e22adb298388d";
const secretSignature = "1b47061264138c4ac30d75fd1eb44270";

/** Placeholder in a preview for a value that only the update knows. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** A value, or the placeholder for an unknown one. */
export const orUnknown = <Type extends z.ZodType>(type: Type) =>
  z.union([z.literal(UNKNOWN), type]);

/** Path of a property: names and list positions. */
export type Path = readonly (string | number)[];

/** Whether the value is a map (neither list nor null). */
export const isMap = (value: unknown): value is Properties =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Marks a value as secret, so that it is encrypted in the state and hidden in every output. */
export const secret = (value: unknown): Properties => ({ [signature]: secretSignature, value });

const isSecret = (value: unknown): value is Properties =>
  isMap(value) && value[signature] === secretSignature;

/** Whether any part of the value is unknown yet. */
export function containsUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (Array.isArray(value)) return value.some(containsUnknown);
  return isMap(value) && Object.values(value).some(containsUnknown);
}

/** The value without secret marks, and where they were. */
export function reveal(value: unknown, path: Path = []): { plain: unknown; secrets: Path[] } {
  if (isSecret(value)) return { plain: reveal(value["value"]).plain, secrets: [path] };
  const secrets: Path[] = [];
  const revealChild = (child: unknown, key: string | number): unknown => {
    const result = reveal(child, [...path, key]);
    secrets.push(...result.secrets);
    return result.plain;
  };
  if (Array.isArray(value)) return { plain: value.map(revealChild), secrets };
  if (!isMap(value)) return { plain: value, secrets };
  const plain = Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, revealChild(child, key)]),
  );
  return { plain, secrets };
}

/**
 * Marks each path as secret again. If a path leads into a scalar or past a list's end, the whole scalar or list is
 * marked.
 */
export function conceal(value: unknown, secrets: readonly Path[]): unknown {
  if (value === undefined || secrets.length === 0 || isSecret(value)) return value;
  if (secrets.some((path) => path.length === 0)) return secret(value);
  const pathsBelow = (key: string | number): Path[] =>
    secrets.filter((path) => path[0] === key).map((path) => path.slice(1));
  if (Array.isArray(value)) {
    const leadsNowhere = secrets.some(
      (path) => typeof path[0] !== "number" || path[0] >= value.length,
    );
    return leadsNowhere
      ? secret(value)
      : value.map((child, index) => conceal(child, pathsBelow(index)));
  }
  if (!isMap(value)) return secret(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, conceal(child, pathsBelow(key))]),
  );
}

/** Decodes a message. */
export const fromStruct = (struct: Struct | undefined): Properties =>
  (struct?.toJavaScript() as Properties | undefined) ?? {};

/** Encodes properties as a message; properties without a value are left out. */
export const toStruct = (value: Properties): Struct =>
  Struct.fromJavaScript(withoutUndefined(value) as Parameters<typeof Struct.fromJavaScript>[0]);

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutUndefined(item) ?? null);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== undefined)
      .map(([key, child]) => [key, withoutUndefined(child)]),
  );
}

/** Paths at which two values differ, in the engine's notation (`spec.ports[0].port`), with the kind of change. */
export function differences(
  olds: unknown,
  news: unknown,
  path = "",
): Record<string, "add" | "delete" | "update"> {
  if (isDeepStrictEqual(olds, news)) return {};
  if (olds === undefined) return { [path]: "add" };
  if (news === undefined) return { [path]: "delete" };
  const keys = (value: unknown): (string | number)[] | undefined =>
    Array.isArray(value) ? [...value.keys()] : isMap(value) ? Object.keys(value) : undefined;
  const [oldKeys, newKeys] = [keys(olds), keys(news)];
  if (!oldKeys || !newKeys || Array.isArray(olds) !== Array.isArray(news))
    return { [path]: "update" };
  const child = (value: unknown, key: string | number): unknown =>
    (value as Record<string | number, unknown>)[key];
  return Object.assign(
    {},
    ...[...new Set([...oldKeys, ...newKeys])].map((key) =>
      differences(child(olds, key), child(news, key), joinPath(path, key)),
    ),
  ) as Record<string, "add" | "delete" | "update">;
}

function joinPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}
