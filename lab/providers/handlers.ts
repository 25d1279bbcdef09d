import type * as grpc from "@grpc/grpc-js";
import * as plugin from "@pulumi/pulumi/proto/plugin_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import { type Call, contextOf, defaultDiff, type Known, oldsOf, plain, type ResourceRequest } from "./calls";
import { EngineLink } from "./engine-link";
import type { CallContext, LabProvider, Properties } from "./provider";
import { checkReply, diffReply, emptyMessage, type Reply, toFailure } from "./replies";
import { conceal, fromStruct, reveal, toStruct } from "./values";

/** The service `pulumirpc.ResourceProvider` (proto/pulumi/provider.proto) over a `LabProvider`. */
export class ProviderHandlers {
  private readonly link = new EngineLink();

  constructor(private readonly provider: LabProvider) {}

  close(): void {
    this.link.close();
  }

  /** Methods that are missing here (construct, call, parameterize, list, mappings) answer UNIMPLEMENTED. */
  implementation(): grpc.UntypedServiceImplementation {
    return {
      handshake: this.unary((call: Call<messages.ProviderHandshakeRequest>) => this.handshake(call)),
      attach: this.unary((call: Call<plugin.PluginAttach>) => this.attach(call)),
      getPluginInfo: this.unary(() => this.pluginInfo()),
      getSchema: this.unary(() => this.schema()),
      checkConfig: this.unary((call: Call<messages.CheckRequest>) => this.checkConfig(call)),
      diffConfig: this.unary((call: Call<messages.DiffRequest>) => this.diffConfig(call)),
      configure: this.unary((call: Call<messages.ConfigureRequest>) => this.configure(call)),
      check: this.unary((call: Call<messages.CheckRequest>) => this.check(call)),
      diff: this.unary((call: Call<messages.DiffRequest>) => this.diff(call)),
      create: this.unary((call: Call<messages.CreateRequest>) => this.create(call)),
      read: this.unary((call: Call<messages.ReadRequest>) => this.read(call)),
      update: this.unary((call: Call<messages.UpdateRequest>) => this.update(call)),
      delete: this.unary((call: Call<messages.DeleteRequest>) => this.delete(call)),
      invoke: this.unary((call: Call<messages.InvokeRequest>) => this.invoke(call)),
      cancel: this.unary(() => this.cancel()),
    };
  }

  private unary<Request>(handle: (call: Call<Request>) => Reply | Promise<Reply>) {
    return (call: Call<Request>, callback: grpc.sendUnaryData<unknown>): void => {
      void new Promise<Reply>((resolve) => resolve(handle(call))).then(
        (reply) => callback(null, reply),
        (error: unknown) => callback(toFailure(error)),
      );
    };
  }

  private handshake(call: Call<messages.ProviderHandshakeRequest>): Reply {
    this.link.resume();
    this.link.attach(call.request.getEngineAddress());
    const reply = new messages.ProviderHandshakeResponse();
    reply.setAcceptSecrets(true);
    return reply;
  }

  private attach(call: Call<plugin.PluginAttach>): Reply {
    this.link.attach(call.request.getAddress());
    return emptyMessage();
  }

  private pluginInfo(): Reply {
    const reply = new plugin.PluginInfo();
    reply.setVersion(this.provider.version);
    return reply;
  }

  private schema(): Reply {
    const { name, version, schema } = this.provider;
    const reply = new messages.GetSchemaResponse();
    reply.setSchema(schema ?? JSON.stringify({ name, version, resources: {}, functions: {} }));
    return reply;
  }

  private checkConfig(call: Call<messages.CheckRequest>): Reply {
    return checkReply(fromStruct(call.request.getNews()), []);
  }

  private diffConfig(call: Call<messages.DiffRequest>): Reply {
    const [olds, news] = [oldsOf(call.request), plain(call.request.getNews())];
    return diffReply(defaultDiff(olds, news), olds, news);
  }

  private async configure(call: Call<messages.ConfigureRequest>): Promise<Reply> {
    await this.provider.configure?.(plain(call.request.getArgs()));
    const reply = new messages.ConfigureResponse();
    reply.setAcceptsecrets(true);
    reply.setSupportspreview(true);
    return reply;
  }

  private check(call: Call<messages.CheckRequest>): Promise<Reply> {
    const { plain: inputs, secrets } = reveal(fromStruct(call.request.getNews()));
    const olds = plain(call.request.getOlds());
    return this.onResource(call, { secrets, oldInputs: olds }, async (provider, type, context) => {
      const news = inputs as Properties;
      const result = (await provider.check?.(type, olds, news, context)) ?? { inputs: news, failures: [] };
      return checkReply(conceal(result.inputs, secrets) as Properties, result.failures);
    });
  }

  private diff(call: Call<messages.DiffRequest>): Promise<Reply> {
    const olds = oldsOf(call.request);
    const { plain: inputs, secrets } = reveal(fromStruct(call.request.getNews()));
    const [news, oldOutputs] = [inputs as Properties, plain(call.request.getOlds())];
    const ignoreChanges = call.request.getIgnorechangesList();
    const known = { secrets, oldInputs: olds, oldOutputs, ignoreChanges };
    return this.onResource(call, known, async (provider, type, context) => {
      const result = await provider.diff?.(type, call.request.getId(), olds, news, context);
      return diffReply(result ?? defaultDiff(olds, news), olds, news);
    });
  }

  private create(call: Call<messages.CreateRequest>): Promise<Reply> {
    const { plain: inputs, secrets } = reveal(fromStruct(call.request.getProperties()));
    return this.onResource(call, { secrets }, async (provider, type, context) => {
      const [preview, timeout] = [call.request.getPreview(), call.request.getTimeout()];
      const created = await provider.create(type, inputs as Properties, preview, context.urn, timeout, context);
      const reply = new messages.CreateResponse();
      reply.setId(created.id);
      reply.setProperties(toStruct(conceal(created.outputs, secrets) as Properties));
      return reply;
    });
  }

  private read(call: Call<messages.ReadRequest>): Promise<Reply> {
    const state = reveal(fromStruct(call.request.getProperties()));
    const inputs = reveal(fromStruct(call.request.getInputs()));
    const [oldOutputs, oldInputs] = [state.plain as Properties, inputs.plain as Properties];
    const id = call.request.getId();
    const secrets = [...state.secrets, ...inputs.secrets];
    return this.onResource(call, { secrets, oldInputs, oldOutputs }, async (provider, type, context) => {
      const known = { id, inputs: oldInputs, outputs: oldOutputs };
      const live = provider.read ? await provider.read(type, id, oldOutputs, context) : known;
      const reply = new messages.ReadResponse();
      if (!live) return reply; // an empty id says: gone
      reply.setId(live.id);
      reply.setInputs(toStruct(conceal(live.inputs, inputs.secrets) as Properties));
      reply.setProperties(toStruct(conceal(live.outputs, secrets) as Properties));
      return reply;
    });
  }

  private update(call: Call<messages.UpdateRequest>): Promise<Reply> {
    const { plain: inputs, secrets } = reveal(fromStruct(call.request.getNews()));
    const [olds, oldInputs] = [plain(call.request.getOlds()), oldsOf(call.request)];
    const ignoreChanges = call.request.getIgnorechangesList();
    const known = { secrets, oldInputs, oldOutputs: olds, ignoreChanges };
    return this.onResource(call, known, async (provider, type, context) => {
      const [id, preview, timeout] = [call.request.getId(), call.request.getPreview(), call.request.getTimeout()];
      const result = await provider.update(type, id, olds, inputs as Properties, preview, timeout, context);
      const reply = new messages.UpdateResponse();
      reply.setProperties(toStruct(conceal(result.outputs, secrets) as Properties));
      return reply;
    });
  }

  private delete(call: Call<messages.DeleteRequest>): Promise<Reply> {
    const state = plain(call.request.getProperties());
    const oldInputs = plain(call.request.getOldInputs());
    return this.onResource(call, { oldInputs, oldOutputs: state }, async (provider, type, context) => {
      await provider.delete(type, call.request.getId(), state, call.request.getTimeout(), context);
      return emptyMessage();
    });
  }

  private invoke(call: Call<messages.InvokeRequest>): Promise<Reply> {
    const { plain: args, secrets } = reveal(fromStruct(call.request.getArgs()));
    const token = call.request.getTok();
    const resource = { getUrn: () => "", getName: () => "", getType: () => token };
    return this.run(call, resource, { secrets }, async (provider, _type, context) => {
      if (!provider.invoke) throw new Error(`${token}: provider ${provider.name} has no functions`);
      const result = await provider.invoke(token, args as Properties, context);
      const everything = secrets.length > 0 ? Object.keys(result).map((key) => [key]) : [];
      const reply = new messages.InvokeResponse();
      reply.setReturn(toStruct(conceal(result, everything) as Properties));
      return reply;
    });
  }

  private cancel(): Reply {
    this.link.cancel();
    return emptyMessage();
  }

  private onResource<Request extends ResourceRequest>(
    call: Call<Request>,
    known: Known,
    work: (provider: LabProvider, type: string, context: CallContext) => Promise<Reply>,
  ): Promise<Reply> {
    return this.run(call, call.request, known, work);
  }

  private run(
    call: Call<unknown>,
    resource: ResourceRequest,
    known: Known,
    work: (provider: LabProvider, type: string, context: CallContext) => Promise<Reply>,
  ): Promise<Reply> {
    const urn = resource.getUrn();
    const type = resource.getType() || (urn.split("::")[2]?.split("$").pop() ?? "");
    return this.link.during(async (controller) => {
      call.on("cancelled", () => controller.abort(new Error("the engine went away")));
      const lines: Promise<void>[] = [];
      const context = contextOf(this.link, resource, known, controller.signal, lines);
      try {
        return await work(this.provider, type, context);
      } finally {
        await Promise.all(lines); // the engine forgets lines that come after the result
      }
    });
  }
}
