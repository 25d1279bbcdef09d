import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { askFactory } from "../../components/lookups/release-facts";
import { startFactory } from "../../lab/factory";
import { laterReleases } from "../../lab/factory/releases";

/** Pauses between requests in milliseconds, so that a repeated request needs no time. */
const shortPauses = { timeout: 60_000, pauses: [1, 1] };
const factsOf = (stack: object, url: string) =>
  askFactory(stack, { TALOS_GPU_FACTORY: url }, shortPauses);
const releaseFactsOf = async (talosVersion: string, url: string, stackFields: object = {}) =>
  (await factsOf({ talosVersion, ...stackFields }, url)).releaseFacts;

/** A server that gives one answer to each request. The last answer is repeated. */
async function startServer(answers: ((response: http.ServerResponse) => void)[]) {
  const requestedPaths: string[] = [];
  const server = http.createServer((request, response) => {
    requestedPaths.push(request.url ?? "");
    answers[Math.min(requestedPaths.length, answers.length) - 1]!(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestedPaths,
    close: () => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))),
  };
}
const answerWith =
  (code: number, body = "") =>
  (response: http.ServerResponse) =>
    void response.writeHead(code).end(body);

test("the Image Factory gives the drivers, toolkit and extensions of a newer release, or says that it lacks the release", async () => {
  const factory = await startFactory();
  try {
    const { minor, from, lts, production, toolkit } = laterReleases[0]!;
    const newerVersion = `v1.${minor}.${from}`;
    const facts = await releaseFactsOf(newerVersion, factory.url);
    expect(facts).toMatchObject({ talosVersion: newerVersion, lts, production, toolkit });
    expect(facts?.extensions).toContain("siderolabs/nvidia-container-toolkit-production");
    expect(await releaseFactsOf("v1.13.77", factory.url)).toEqual({
      talosVersion: "v1.13.77",
      missing: true,
    });
    expect(factory.requests()).toMatchObject({ "GET /version/:version/extensions/official": 2 });
  } finally {
    await factory.close();
  }
});

test.each([
  ["the tables have the release", "v1.13.9", {}],
  ["the stack has the facts", "v1.14.3", { releaseFacts: { talosVersion: "v1.14.3" } }],
  ["the minor is unknown", "v1.99.0", {}],
  ["the text is no release", "nonsense", {}],
])("the Image Factory gets no request if %s", async (_, talosVersion, stackFields) => {
  const server = await startServer([answerWith(404)]);
  expect(await releaseFactsOf(talosVersion, server.url, stackFields)).toBeUndefined();
  expect(server.requestedPaths).toEqual([]);
  await server.close();
});

test("the Image Factory is also asked for the releases of machines, pools and defaults, once for each release", async () => {
  const server = await startServer([answerWith(404)]);
  const missingRelease = (talosVersion: string) => ({ talosVersion, missing: true });
  const knownFacts = { talosVersion: "v1.13.40", production: "595.99.10" };
  const stack = {
    talosVersion: "v1.13.9",
    machines: { a: { talosVersion: "v1.13.41" }, b: { talosVersion: "v1.13.1" }, c: null },
    machineDefaults: { talosVersion: "v1.13.42" },
    pools: {
      x: { talosVersion: "v1.13.41" },
      y: { talosVersion: "v1.14.50" },
      z: { talosVersion: "v1.13.40" },
    },
    otherReleaseFacts: [knownFacts],
  };
  expect(await factsOf(stack, server.url)).toEqual({
    otherReleaseFacts: [knownFacts, ...["v1.13.42", "v1.13.41", "v1.14.50"].map(missingRelease)],
  });
  expect(server.requestedPaths).toHaveLength(3);
  expect(await factsOf({ talosVersion: "v1.13.9", machines: [], pools: "x" }, server.url)).toEqual(
    {},
  );
  await server.close();
});

// The answer of factory.talos.dev, from the issue and the source of image-factory.
const factoryAnswer = JSON.stringify([
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
  const server = await startServer([
    answerWith(500),
    answerWith(503),
    answerWith(200, factoryAnswer),
  ]);
  expect(await releaseFactsOf("v1.14.3", server.url)).toEqual({
    talosVersion: "v1.14.3",
    lts: "580.178.04",
    production: "595.91.07",
    toolkit: "1.19.1",
    extensions: [
      "siderolabs/nvidia-container-toolkit-lts",
      "siderolabs/nvidia-container-toolkit-production",
    ],
  });
  expect(server.requestedPaths).toEqual(Array(3).fill("/version/v1.14.3/extensions/official"));
  await server.close();
});

test("if the Image Factory never answers, the lookup ends after the timeout, with the reason", async () => {
  const server = await startServer([() => undefined]);
  const shortTimeout = { timeout: 50, pauses: [1] };
  const facts = await askFactory(
    { talosVersion: "v1.14.3" },
    { TALOS_GPU_FACTORY: server.url },
    shortTimeout,
  );
  expect(facts).toEqual({
    releaseFacts: { talosVersion: "v1.14.3", silent: "it does not answer in time" },
  });
  expect(server.requestedPaths.length).toBeLessThanOrEqual(2);
  await server.close();
});

test.each([
  ["is down", undefined, "ECONNREFUSED"],
  ["answers errors", answerWith(500), "it answers 500"],
  ["answers a web page", answerWith(200, "<html>sign in</html>"), "JSON"],
  ["answers JSON that is no list", answerWith(200, "{}"), "its answer is not a list"],
])(
  "the lookup in an Image Factory that %s does not fail, and gives the reason",
  async (_, answer, reason) => {
    const server = await startServer([answer ?? answerWith(200)]);
    if (answer === undefined) await server.close();
    expect(await releaseFactsOf("v1.14.3", server.url)).toEqual({
      talosVersion: "v1.14.3",
      silent: expect.stringContaining(reason),
    });
    if (answer !== undefined) await server.close();
  },
);
