import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { askFactory } from "../../components/lookups/release-facts";
import { startFactory } from "../../lab/factory";
import { laterReleases } from "../../lab/factory/releases";

const quickly = { timeout: 60_000, pauses: [1, 1] };
const asked = (stack: object, url: string) =>
  askFactory(stack, { TALOS_GPU_FACTORY: url }, quickly);
const ask = async (talosVersion: string, url: string, more: object = {}) =>
  (await asked({ talosVersion, ...more }, url)).releaseFacts;

/** A server that gives one answer to each request. The last answer is repeated. */
async function serve(answers: ((response: http.ServerResponse) => void)[]) {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    asked.push(request.url ?? "");
    answers[Math.min(asked.length, answers.length) - 1]!(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))),
  };
}
const status =
  (code: number, body = "") =>
  (response: http.ServerResponse) =>
    void response.writeHead(code).end(body);

test("drivers, toolkit and extensions of a newer release are read from the Image Factory", async () => {
  const factory = await startFactory();
  try {
    const { minor, from, lts, production, toolkit } = laterReleases[0]!;
    const newer = `v1.${minor}.${from}`;
    const facts = await ask(newer, factory.url);
    expect(facts).toMatchObject({ talosVersion: newer, lts, production, toolkit });
    expect(facts?.extensions).toContain("siderolabs/nvidia-container-toolkit-production");
    expect(await ask("v1.13.77", factory.url)).toEqual({ talosVersion: "v1.13.77", missing: true });
    expect(factory.requests()).toMatchObject({ "GET /version/:version/extensions/official": 2 });
    // The Image Factory is not asked: the tables or the stack have the facts, or the release is of an unknown
    // minor.
    expect(await ask("v1.13.9", factory.url)).toBeUndefined();
    expect(
      await ask(newer, factory.url, { releaseFacts: { talosVersion: newer } }),
    ).toBeUndefined();
    expect(await ask("v1.99.0", factory.url)).toBeUndefined();
    expect(await ask("nonsense", factory.url)).toBeUndefined();
    expect(factory.requests()).toMatchObject({ "GET /version/:version/extensions/official": 2 });
  } finally {
    await factory.close();
  }
});

test("the releases of machines, pools and defaults are also requested, each once", async () => {
  const server = await serve([status(404)]);
  const missing = (talosVersion: string) => ({ talosVersion, missing: true });
  const said = { talosVersion: "v1.13.40", production: "595.99.10" };
  const stack = {
    talosVersion: "v1.13.9",
    machines: { a: { talosVersion: "v1.13.41" }, b: { talosVersion: "v1.13.1" }, c: null },
    machineDefaults: { talosVersion: "v1.13.42" },
    pools: {
      x: { talosVersion: "v1.13.41" },
      y: { talosVersion: "v1.14.50" },
      z: { talosVersion: "v1.13.40" },
    },
    otherReleaseFacts: [said],
  };
  expect(await asked(stack, server.url)).toEqual({
    otherReleaseFacts: [said, ...["v1.13.42", "v1.13.41", "v1.14.50"].map(missing)],
  });
  expect(server.asked).toHaveLength(3);
  expect(await asked({ talosVersion: "v1.13.9", machines: [], pools: "x" }, server.url)).toEqual(
    {},
  );
  await server.close();
});

// The answer of factory.talos.dev, from the issue and the source of image-factory.
const real = JSON.stringify([
  {
    name: "siderolabs/nvidia-container-toolkit-production",
    ref: "ghcr.io/siderolabs/nvidia-container-toolkit-production:595.91.07-v1.19.1@sha256:0123",
  },
  {
    name: "siderolabs/nvidia-container-toolkit-lts",
    ref: "ghcr.io/siderolabs/nvidia-container-toolkit-lts:580.178.04-v1.19.1",
  },
]);

test("the request is repeated if the Image Factory answers 500 or 503", async () => {
  const server = await serve([status(500), status(503), status(200, real)]);
  expect(await ask("v1.14.3", server.url)).toEqual({
    talosVersion: "v1.14.3",
    lts: "580.178.04",
    production: "595.91.07",
    toolkit: "1.19.1",
    extensions: [
      "siderolabs/nvidia-container-toolkit-lts",
      "siderolabs/nvidia-container-toolkit-production",
    ],
  });
  expect(server.asked).toEqual(Array(3).fill("/version/v1.14.3/extensions/official"));
  await server.close();
});

test("an Image Factory that never answers is given up after the timeout", async () => {
  const server = await serve([() => undefined]);
  const hasty = { timeout: 50, pauses: [1] };
  const facts = await askFactory(
    { talosVersion: "v1.14.3" },
    { TALOS_GPU_FACTORY: server.url },
    hasty,
  );
  expect(facts).toEqual({
    releaseFacts: { talosVersion: "v1.14.3", silent: "it does not answer in time" },
  });
  expect(server.asked.length).toBeLessThanOrEqual(2);
  await server.close();
});

test.each([
  ["is down", undefined, "ECONNREFUSED"],
  ["answers errors", status(500), "it answers 500"],
  ["answers a web page", status(200, "<html>sign in</html>"), "JSON"],
  ["answers JSON that is no list", status(200, "{}"), "its answer is not a list"],
])("an Image Factory that %s causes a message and no failure", async (_how, answer, why) => {
  const server = await serve([answer ?? status(200)]);
  if (answer === undefined) await server.close();
  expect(await ask("v1.14.3", server.url)).toEqual({
    talosVersion: "v1.14.3",
    silent: expect.stringContaining(why),
  });
  if (answer !== undefined) await server.close();
});
