import { firstLabEnvironment } from "../../bench/lab";

test("the first lab has empty caches, and downloads tools only if TALOS_GPU_LAB_RELEASES is set", () => {
  const left = { PATH: "/usr/bin", GOCACHE: "/left", GOMODCACHE: "/left", XDG_CACHE_HOME: "/left" };
  const environment = {
    PATH: "/usr/bin",
    GOCACHE: "/empty/go",
    GOMODCACHE: "/empty/modules",
    XDG_CACHE_HOME: "/empty/tools",
    TALOS_GPU_LAB_TOOLS: "own",
    TALOS_GPU_LAB_RELEASES: "none",
  };
  expect(firstLabEnvironment("/empty", left)).toEqual(environment);
  const page = { TALOS_GPU_LAB_RELEASES: "http://127.0.0.1:8080" };
  expect(firstLabEnvironment("/empty", { ...left, ...page })).toEqual({ ...environment, ...page });
});
