import * as grpc from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";
import * as plugin from "@pulumi/pulumi/proto/plugin_pb";
import * as services from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { withFields, serveGrpc, unary } from "../grpc-method";
import type { MaybePromise, DiffResult, LabProvider, Properties, ResourceCall } from "./provider";
import {
  conceal,
  differences,
  fromStruct,
  type Path,
  reveal,
  sdkMessage,
  type Struct,
  toStruct,
} from "./values";

/** A served provider. */
export interface ServedProvider {
  /** Port on 127.0.0.1, for `PULUMI_DEBUG_PROVIDERS` as `name:port`. */
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves a provider to the engine over gRPC, in this process. All provider resources of its package share it, and one
 * configuration.
 */
export async function serveProvider(provider: LabProvider): Promise<ServedProvider> {
  const served = new ProviderService(provider);
  const { server, port } = await serveGrpc(services.ResourceProviderService, served.methods());
  return {
    port,
    close: () => {
      served.cancel();
      served.engine?.close();
      server.forceShutdown();
      return Promise.resolve();
    },
  };
}

type Reply = object;

/** Fields of requests about a resource; some requests lack some. */
interface ResourceRequest {
  getUrn(): string;
  getId?(): string;
  getPreview?(): boolean;
  getTimeout?(): number;
  getIgnorechangesList?(): string[];
}

interface RequestValues {
  inputs?: Struct | undefined;
  oldInputs?: Struct | undefined;
  oldOutputs?: Struct | undefined;
}

/** Encodes values for the engine; a value is secret if the input at its path was. */
type Encode = (values: Properties) => Struct;

/** The service `pulumirpc.ResourceProvider` (proto/pulumi/provider.proto) over a `LabProvider`. */
class ProviderService {
  /** Connection to the engine of the running update. */
  engine: EngineClient | undefined;
  private update = new AbortController();

  constructor(private readonly provider: LabProvider) {}

  /** Aborts running requests, and those that the engine still sends before the next update. */
  cancel(): void {
    this.update.abort(new Error("the update was cancelled"));
  }

  /** Methods that are missing here (construct, call, getSchema, parameterize, list, mappings) answer UNIMPLEMENTED. */
  methods(): grpc.UntypedServiceImplementation {
    const { provider } = this;
    const { Empty } = sdkMessage("empty_pb");
    const valuesOfChange = (
      request: messages.DiffRequest | messages.UpdateRequest,
    ): RequestValues => ({
      inputs: request.getNews(),
      oldInputs: request.getOldInputs(),
      oldOutputs: request.getOlds(),
    });
    return {
      handshake: unary((request: messages.ProviderHandshakeRequest) => {
        this.update = new AbortController();
        this.attach(request.getEngineAddress());
        return withFields(new messages.ProviderHandshakeResponse(), { acceptSecrets: true });
      }),
      attach: unary((request: plugin.PluginAttach) => {
        this.attach(request.getAddress());
        return new Empty();
      }),
      getPluginInfo: unary(() =>
        withFields(new plugin.PluginInfo(), { version: provider.version }),
      ),
      checkConfig: unary((request: messages.CheckRequest) =>
        withFields(new messages.CheckResponse(), { inputs: request.getNews() }),
      ),
      diffConfig: unary((request: messages.DiffRequest) =>
        diffReply(diffInPlace(decode(request.getOldInputs()), decode(request.getNews()))),
      ),
      configure: unary((request: messages.ConfigureRequest) => {
        provider.configure?.(decode(request.getArgs()));
        return withFields(new messages.ConfigureResponse(), {
          acceptsecrets: true,
          supportspreview: true,
        });
      }),
      check: this.resourceMethod(
        (request: messages.CheckRequest) => ({
          inputs: request.getNews(),
          oldInputs: request.getOlds(),
        }),
        (call, encode) => {
          const { inputs, failures } = provider.check?.(call) ?? {
            inputs: call.inputs,
            failures: [],
          };
          const failuresList = failures.map((failure) =>
            withFields(new messages.CheckFailure(), failure),
          );
          return withFields(new messages.CheckResponse(), { inputs: encode(inputs), failuresList });
        },
      ),
      diff: this.resourceMethod(valuesOfChange, (call) =>
        diffReply(provider.diff?.(call) ?? diffInPlace(call.oldInputs, call.inputs)),
      ),
      create: this.resourceMethod(
        (request: messages.CreateRequest) => ({ inputs: request.getProperties() }),
        async (call, encode) => {
          const { id, outputs } = await provider.make(call);
          return withFields(new messages.CreateResponse(), { id, properties: encode(outputs) });
        },
      ),
      // No provider of the lab reads live state, so it returns the old state.
      read: unary((request: messages.ReadRequest) =>
        withFields(new messages.ReadResponse(), {
          id: request.getId(),
          inputs: request.getInputs(),
          properties: request.getProperties(),
        }),
      ),
      update: this.resourceMethod(valuesOfChange, async (call, encode) => {
        const { outputs } = await provider.make(call);
        return withFields(new messages.UpdateResponse(), { properties: encode(outputs) });
      }),
      delete: this.resourceMethod(
        (request: messages.DeleteRequest) => ({
          oldInputs: request.getOldInputs(),
          oldOutputs: request.getProperties(),
        }),
        async (call) => {
          await provider.delete?.(call);
          return new Empty();
        },
      ),
      invoke: unary(async (request: messages.InvokeRequest) => {
        const { plain: args, secrets } = reveal(fromStruct(request.getArgs()));
        const token = request.getTok();
        if (!provider.invoke)
          throw new Error(`${token}: provider ${provider.name} has no functions`);
        const result = await provider.invoke(token, args as Properties, this.update.signal);
        const secretPaths = secrets.length > 0 ? Object.keys(result).map((key) => [key]) : [];
        return withFields(new messages.InvokeResponse(), {
          return: encodeWithSecrets(result, secretPaths),
        });
      }),
      cancel: unary(() => {
        this.cancel();
        return new Empty();
      }),
    };
  }

  private attach(address: string): void {
    this.engine?.close();
    this.engine = new EngineClient(address, grpc.credentials.createInsecure());
  }

  /** Makes a method about one resource. `valuesOf` names the fields with the request's values. */
  private resourceMethod<Request extends ResourceRequest>(
    valuesOf: (request: Request) => RequestValues,
    answer: (call: ResourceCall, encode: Encode) => MaybePromise<Reply>,
  ) {
    return unary(async (request: Request, disconnected: AbortSignal): Promise<Reply> => {
      const { inputs, oldInputs, oldOutputs } = valuesOf(request);
      const { plain: news, secrets } = reveal(fromStruct(inputs));
      const urn = request.getUrn();
      const [, , types = "", ...name] = urn.split("::");
      const pendingLogs: Promise<void>[] = [];
      const call: ResourceCall = {
        type: types.split("$").pop() ?? "",
        name: name.join("::"),
        id: request.getId?.(),
        inputs: news as Properties,
        oldInputs: decode(oldInputs),
        oldOutputs: decode(oldOutputs),
        ignoreChanges: request.getIgnorechangesList?.() ?? [],
        preview: request.getPreview?.() ?? false,
        timeoutSeconds: request.getTimeout?.() ?? 0,
        signal: AbortSignal.any([this.update.signal, disconnected]),
        log: (...line) => void pendingLogs.push(this.log(urn, ...line)),
      };
      try {
        return await answer(call, (values) => encodeWithSecrets(values, secrets));
      } finally {
        await Promise.all(pendingLogs); // the engine drops lines that arrive after the result
      }
    });
  }

  /** Sends one line to the user, and resolves when the engine has it. A failure to send is ignored. */
  private log(
    urn: string,
    severity: "info" | "warning",
    message: string,
    ephemeral = false,
  ): Promise<void> {
    const level = severity === "info" ? LogSeverity.INFO : LogSeverity.WARNING;
    const request = withFields(new LogRequest(), { urn, severity: level, message, ephemeral });
    return new Promise((resolve) =>
      this.engine ? this.engine.log(request, () => resolve()) : resolve(),
    );
  }
}

const encodeWithSecrets = (values: Properties, secrets: readonly Path[]): Struct =>
  toStruct(conceal(values, secrets) as Properties);

/** A message's values without secret marks. */
const decode = (struct: Struct | undefined): Properties =>
  reveal(fromStruct(struct)).plain as Properties;

/** Any difference is an update in place. */
const diffInPlace = (olds: Properties, news: Properties): DiffResult => ({
  detailed: differences(olds, news),
  replaces: [],
});

const { ADD, ADD_REPLACE, DELETE, DELETE_REPLACE, UPDATE, UPDATE_REPLACE } =
  messages.PropertyDiff.Kind;
const diffKinds = {
  add: [ADD, ADD_REPLACE],
  delete: [DELETE, DELETE_REPLACE],
  update: [UPDATE, UPDATE_REPLACE],
} as const;

function diffReply({ detailed, replaces }: DiffResult): Reply {
  const { DIFF_NONE: changes, DIFF_SOME } = messages.DiffResponse.DiffChanges;
  const paths = Object.entries(detailed);
  if (paths.length === 0) return withFields(new messages.DiffResponse(), { changes });
  const topProperty = (path: string): string => /^[^.[]+/.exec(path)?.[0] ?? path;
  const reply = withFields(new messages.DiffResponse(), {
    changes: DIFF_SOME,
    replacesList: [...replaces],
    hasdetaileddiff: true,
    diffsList: [...new Set(paths.map(([path]) => topProperty(path)))],
  });
  for (const [path, change] of paths) {
    const kind = diffKinds[change][replaces.includes(topProperty(path)) ? 1 : 0];
    reply
      .getDetaileddiffMap()
      .set(path, withFields(new messages.PropertyDiff(), { kind, inputdiff: true }));
  }
  return reply;
}
