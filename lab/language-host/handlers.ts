import * as grpc from "@grpc/grpc-js";
import * as language from "@pulumi/pulumi/proto/language_pb";
import { PluginInfo } from "@pulumi/pulumi/proto/plugin_pb";
import { Empty } from "google-protobuf/google/protobuf/empty_pb";
import { version } from "@pulumi/pulumi/version";
import type { Children } from "./children";
import type { Engine } from "./engine";
import { generatePackage, generatorOf } from "./generate-package";
import { requiredPackages } from "./packages";
import { run } from "./run";
import { runPlugin } from "./run-plugin";

type Call<Request> = grpc.ServerUnaryCall<Request, unknown>;

/**
 * The methods that previews, updates, plugins and `package gen-sdk` use. Dependencies are `npm ci`'s, so
 * `InstallDependencies` installs nothing.
 */
export function handlers(engine: Engine, children: Children): grpc.UntypedServiceImplementation {
  return {
    handshake: unary((call: Call<language.LanguageHandshakeRequest>) => {
      engine.meet(call.request.getEngineAddress());
      return new language.LanguageHandshakeResponse();
    }),
    getPluginInfo: unary(() => {
      const info = new PluginInfo();
      info.setVersion(version);
      return info;
    }),
    getRequiredPackages: unary((call: Call<language.GetRequiredPackagesRequest>) => {
      const response = new language.GetRequiredPackagesResponse();
      response.setPackagesList(requiredPackages(call.request.getInfo()?.getProgramDirectory() ?? "."));
      return response;
    }),
    run: unary((call: Call<language.RunRequest>) => run(call.request, engine.address, children)),
    runPlugin: (call: grpc.ServerWritableStream<language.RunPluginRequest, language.RunPluginResponse>) => {
      const gone = new AbortController();
      call.on("cancelled", () => gone.abort());
      runPlugin(call.request, children, (response) => call.write(response), gone.signal).then(
        () => call.end(),
        (error: unknown) => call.destroy(toFailure(error) as unknown as Error),
      );
    },
    installDependencies: (call: grpc.ServerWritableStream<unknown, unknown>) => call.end(),
    generatePackage: unary((call: Call<language.GeneratePackageRequest>) =>
      generatePackage(call.request, generatorOf(process.env)),
    ),
    runtimeOptionsPrompts: unary(() => new language.RuntimeOptionsResponse()),
    template: unary(() => new language.TemplateResponse()),
    about: unary(() => {
      const about = new language.AboutResponse();
      about.setExecutable(process.execPath);
      about.setVersion(process.version);
      about.getMetadataMap().set("packagemanager", "npm");
      return about;
    }),
    cancel: unary(() => {
      children.interrupt();
      return new Empty();
    }),
  };
}

function unary<Request>(handle: (call: Call<Request>) => unknown) {
  return (call: Call<Request>, callback: grpc.sendUnaryData<unknown>): void => {
    void new Promise((resolve) => resolve(handle(call))).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(toFailure(error)),
    );
  };
}

function toFailure(error: unknown): Partial<grpc.StatusObject> {
  return { code: grpc.status.UNKNOWN, details: error instanceof Error ? error.message : String(error) };
}
