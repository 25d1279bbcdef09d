import { goesThroughProxy } from "../../../../components/machine/program/preflight/web";

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
