import * as pulumi from "@pulumi/pulumi";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { LabEngine } from "../../engine";
import {
  containsUnknown,
  type LabProvider,
  type Properties,
  secret,
  serveProvider,
  UNKNOWN,
} from "../../providers/serve";
import { provideTools } from "../../tools";

jest.setTimeout(120_000);

/** A package whose things say which provider resource made them. */
class Toy implements LabProvider {
  readonly name = "toy";
  readonly version = "1.0.0";
  private config: Properties = {};

  constructor(private readonly seen: Properties[] = []) {}

  configure(config: Properties) {
    this.config = config;
  }

  async create(
    _type: string,
    inputs: Properties,
    preview: boolean,
    _urn: string,
    timeoutSeconds: number,
    context: { signal: AbortSignal },
  ) {
    this.seen.push({ preview, inputs, timeoutSeconds });
    if (inputs["hang"] && !preview)
      await new Promise((_, reject) => {
        const stop = (): void => reject(context.signal.reason as Error);
        if (context.signal.aborted) stop(); // the cancellation may overtake the call
        context.signal.addEventListener("abort", stop);
      });
    const outputs = {
      ...inputs,
      made: preview ? UNKNOWN : `by ${String(this.config["color"])}`,
      token: preview ? UNKNOWN : secret("generated-token"),
    };
    return { id: preview ? "" : "id", outputs };
  }

  update(_type: string, _id: string, _olds: Properties, inputs: Properties, preview: boolean) {
    this.seen.push({ update: inputs, preview });
    return { outputs: { ...inputs, made: `by ${String(this.config["color"])}`, token: secret("generated-token") } };
  }

  delete() {
    this.seen.push({ deleted: true });
  }

  invoke(_token: string, args: Properties) {
    return { doubled: Number(args["value"]) * 2, color: this.config["color"] };
  }
}

class ToyProvider extends pulumi.ProviderResource {
  constructor(name: string, color: pulumi.Input<string>) {
    super("toy", name, { color });
  }
}

class Thing extends pulumi.CustomResource {
  declare readonly made: pulumi.Output<string>;
  declare readonly token: pulumi.Output<string>;
  constructor(name: string, props: Record<string, unknown>, opts?: pulumi.CustomResourceOptions) {
    super("toy:index:Thing", name, { ...props, made: undefined, token: undefined }, opts);
  }
}

let dir: string;
let pulumiBinary: string;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  pulumiBinary = (await provideTools({ only: ["pulumi"] })).pulumi;
  dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-serve-"));
}, 1_800_000);

afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await rm(dir, { recursive: true, force: true });
});

async function engineFor(stack: string, provider: LabProvider, program: () => Properties) {
  const served = await serveProvider(provider);
  closing.push(() => served.close());
  const plugins = { toy: served.port };
  return LabEngine.open({
    pulumi: pulumiBinary,
    dir: path.join(dir, stack),
    project: "toys",
    stack,
    program: () => Promise.resolve(program()),
    plugins,
  });
}

test("unknowns reach the preview, secrets stay secret, timeouts arrive", async () => {
  const seen: Properties[] = [];
  const engine = await engineFor("values", new Toy(seen), () => {
    const provider = new ToyProvider("red", "red");
    const first = new Thing(
      "first",
      { nested: { password: pulumi.secret("hunter22-hunter22"), user: "me" } },
      { provider },
    );
    const second = new Thing("second", { after: first.made }, { provider, customTimeouts: { create: "90s" } });
    return { token: second.token, sum: pulumi.runtime.invokeOutput("toy:index:double", { value: 21 }, { provider }) };
  });
  await engine.preview();
  const previewed = seen.find(({ inputs }) => (inputs as Properties)["after"] !== undefined);
  expect(containsUnknown(previewed)).toBe(true);
  const { result, outputs } = await engine.up();
  expect(result).toBe("succeeded");
  expect(outputs["token"]).toEqual({ value: "generated-token", secret: true });
  expect(outputs["sum"]?.value).toEqual({ doubled: 42, color: "red" });
  expect(seen).toContainEqual({ preview: false, inputs: { after: "by red" }, timeoutSeconds: 90 });
  expect(seen).toContainEqual(
    expect.objectContaining({ preview: false, inputs: { nested: { password: "hunter22-hunter22", user: "me" } } }),
  );
  const state = await engine.stateText();
  expect(state).not.toContain("hunter22");
  expect(state).not.toContain("generated-token");
});

test("cancelling aborts what a provider has under way", async () => {
  const engine = await engineFor("hang", new Toy(), () => {
    const provider = new ToyProvider("red", "red");
    return { made: new Thing("thing", { hang: true }, { provider }).made };
  });
  const { result, seconds } = await engine.up({
    onEvent: (event) => {
      if (event.kind === "resource" && event.name === "thing" && event.state === "started") engine.cancel();
    },
  });
  expect(result).toBe("cancelled");
  expect(seconds).toBeLessThan(30);
});
