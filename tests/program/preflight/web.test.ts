import { goesThroughProxy, RealWeb } from "../../../components/program/preflight/web";
import { FakeClock } from "../fakes";

test.each([
  ["a host that DNS does not know", "ENOTFOUND", 1_000],
  ["a server that refuses", "ECONNREFUSED", 14_000],
])("a request to %s is retried for a limited time", async (_, code, milliseconds) => {
  const networkError = Object.assign(new TypeError("fetch failed"), { cause: { code } });
  const fetchSpy = jest.spyOn(globalThis, "fetch").mockRejectedValue(networkError);
  const clock = new FakeClock();
  expect(await new RealWeb(clock, {}).get("https://helm.example/index.yaml")).toEqual({
    silent: code,
  });
  expect(clock.now()).toBe(milliseconds);
  fetchSpy.mockRestore();
});

test("a request without retries is sent once", async () => {
  const fetchSpy = jest.spyOn(globalThis, "fetch").mockRejectedValue(new TypeError("fetch failed"));
  const web = new RealWeb(new FakeClock(), {});
  expect(await web.get("https://factory.example/v2", { retry: false })).toEqual({
    silent: "fetch failed",
  });
  expect(fetchSpy).toHaveBeenCalledTimes(1);
  fetchSpy.mockRestore();
});

test.each([
  ["a longer pause than the default", "7", 7_000],
  ["a shorter pause than the default", "0", 1_000],
  ["a pause of an hour", "3600", 30_000],
  ["a pause that cannot be parsed", "later", 1_000],
])(
  "a busy server that asks for %s is asked again after a limited time",
  async (_, retryAfter, milliseconds) => {
    const answers = [
      new Response("", { status: 429, headers: { "retry-after": retryAfter } }),
      new Response("entries: {}", { status: 200 }),
    ];
    const fetchSpy = jest
      .spyOn(globalThis, "fetch")
      .mockImplementation(() => Promise.resolve(answers.shift()!));
    const clock = new FakeClock();
    expect(await new RealWeb(clock, {}).get("https://helm.example/index.yaml")).toMatchObject({
      status: 200,
    });
    expect(clock.now()).toBe(milliseconds);
    fetchSpy.mockRestore();
  },
);

test("an endless answer is cut off at 32 MiB", async () => {
  let sent = 0;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(2 ** 20).fill(97)) ?? void sent++,
  });
  const fetchSpy = jest.spyOn(globalThis, "fetch").mockResolvedValue(new Response(body));
  expect(await new RealWeb(new FakeClock(), {}).get("https://helm.example/index.yaml")).toEqual({
    unknown: "the server's answer has more than 32 MiB",
  });
  expect(sent).toBeLessThan(40);
  fetchSpy.mockRestore();
});

test.each<[string, NodeJS.ProcessEnv, boolean]>([
  ["https://helm.example/x", {}, false],
  ["https://helm.example/x", { HTTPS_PROXY: "http://proxy:3128" }, true],
  ["http://helm.example/x", { HTTPS_PROXY: "http://proxy:3128" }, false],
  [
    "https://helm.example/x",
    { https_proxy: "http://proxy:3128", no_proxy: "other, .example" },
    false,
  ],
  ["https://helm.example/x", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "m.example" }, true],
  ["http://127.0.0.1:80/x", { HTTP_PROXY: "http://proxy:3128" }, false],
])("a request to %s with %j goes through a proxy: %s", (url, env, isProxied) =>
  expect(goesThroughProxy(url, env)).toBe(isProxied),
);
