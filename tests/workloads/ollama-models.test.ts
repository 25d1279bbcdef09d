import { spawn } from "node:child_process";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { Ollama } from "talos-gpu";
import { fullName } from "../../components/workloads/ollama-models";
import { findResource, findResources } from "../support/graph";
import { record } from "../support/recorder";

test.each([
  ["mistral", "mistral:latest"],
  ["llama3.2:3b", "llama3.2:3b"],
  ["hub.example:5000/team/model", "hub.example:5000/team/model:latest"],
  ["hub.example:5000/team/model:q4", "hub.example:5000/team/model:q4"],
  ["https://hf.co/bartowski/X-GGUF:Q4_K_M", "hf.co/bartowski/X-GGUF:Q4_K_M"],
  ["http://hub.example:5000/team/model", "hub.example:5000/team/model:latest"],
  ["library/llama3.2:3b", "llama3.2:3b"],
  ["registry.ollama.ai/library/llama3.2:3b", "llama3.2:3b"],
  ["https://Registry.Ollama.AI/Library/llama3.2", "llama3.2:latest"],
  ["registry.ollama.ai/team/model", "team/model:latest"],
  ["hf.co/library/model", "hf.co/library/model:latest"], // in another registry, the namespace cannot be left out
  ["library", "library:latest"],
])("Ollama's full name of the model %s is %s", (model, expectedName) => {
  expect(fullName(model)).toBe(expectedName);
});

/**
 * A server with two calls of Ollama (ollama docs/api.md): the list of its models, and a pull, which may fail.
 */
function createOllamaServer(
  models: string[],
  pullWorks: boolean,
): http.Server & { pulls: unknown[] } {
  const pulls: unknown[] = [];
  const server = http.createServer((request, response) => {
    if (request.url === "/api/tags") {
      response.end(JSON.stringify({ models: models.map((name) => ({ name, model: name })) }));
      return;
    }
    let body = "";
    request.on("data", (data: Buffer) => (body += data.toString()));
    request.on("end", () => {
      const pull = JSON.parse(body) as { model: string };
      pulls.push(pull);
      if (pullWorks) models.push(pull.model);
      response.statusCode = pullWorks ? 200 : 500;
      response.end(JSON.stringify(pullWorks ? { status: "success" } : { error: "no such model" }));
    });
  });
  return Object.assign(server, { pulls });
}

/** Runs the Job's command with its variables against a server, which then ends. The result is the exit code. */
async function runPullJob(server: http.Server, model = "llama3.2:3b"): Promise<number | null> {
  const run = await record(
    () =>
      void new Ollama("chat", {
        runtimeClassName: "nvidia",
        gpuResourceName: "nvidia.com/gpu",
        models: [model],
      }),
  );
  const [container] = findResource(run, "kubernetes:batch/v1:Job").inputs.spec.template.spec
    .containers;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const variables = Object.fromEntries(container.env.map(({ name, value }: any) => [name, value]));
  expect(variables.OLLAMA).toBe("http://ollama.ollama.svc:11434");
  const env = {
    PATH: process.env.PATH,
    ...variables,
    OLLAMA: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
  const [command, ...args] = container.command as [string, ...string[]];
  const child = spawn(command, args, { env, stdio: "ignore" });
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  await new Promise((resolve) => server.close(resolve));
  return code;
}

test("the Job pulls a model that the server does not have", async () => {
  const server = createOllamaServer(["llama3.2:1b"], true);
  expect(await runPullJob(server)).toBe(0);
  expect(server.pulls).toEqual([{ model: "llama3.2:3b", stream: false }]);
});

test("the Job does not pull a model that the server has", async () => {
  const server = createOllamaServer(["llama3.2:3b"], true);
  expect(await runPullJob(server)).toBe(0);
  expect(server.pulls).toEqual([]);
});

test("the Job fails if the server cannot pull the model", async () => {
  expect(await runPullJob(createOllamaServer([], false))).not.toBe(0);
});

test("two spellings of a model get one Job, which finds the model under the server's name", async () => {
  const models = ["registry.ollama.ai/library/llama3.2:3b", "llama3.2:3b"];
  const access = { runtimeClassName: "nvidia", gpuResourceName: "nvidia.com/gpu" };
  const run = await record(() => void new Ollama("chat", { ...access, models }));
  expect(findResources(run, "kubernetes:batch/v1:Job")).toHaveLength(1);
  expect(await runPullJob(createOllamaServer(["llama3.2:3b"], true), models[0])).toBe(0);
});
