import { goesThroughProxy, RealWeb } from "../../../../components/machine/program/preflight/web";
import { FakeClock } from "../fakes";

test.each([
  ["a name that DNS does not know", "ENOTFOUND", 1_000],
  ["a server that refuses", "ECONNREFUSED", 14_000],
])("%s is asked again within bounds", async (_, code, milliseconds) => {
  const failed = Object.assign(new TypeError("fetch failed"), { cause: { code } });
  const asked = jest.spyOn(globalThis, "fetch").mockRejectedValue(failed);
  const clock = new FakeClock();
  expect(await new RealWeb(clock, {}).get("https://helm.example/index.yaml")).toEqual({ silent: code });
  expect(clock.now()).toBe(milliseconds);
  asked.mockRestore();
});

test.each<[string, NodeJS.ProcessEnv, boolean]>([
  ["https://helm.example/x", {}, false],
  ["https://helm.example/x", { HTTPS_PROXY: "http://proxy:3128" }, true],
  ["http://helm.example/x", { HTTPS_PROXY: "http://proxy:3128" }, false],
  ["https://helm.example/x", { https_proxy: "http://proxy:3128", no_proxy: "other, .example" }, false],
  ["https://helm.example/x", { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "m.example" }, true],
  ["http://127.0.0.1:80/x", { HTTP_PROXY: "http://proxy:3128" }, false],
])("%s with %j goes through a proxy: %s", (url, environment, through) =>
  expect(goesThroughProxy(url, environment)).toBe(through),
);
