import { firstLabEnvironment } from "../../bench/lab";

test("the first lab has empty caches, and downloads tools only if TALOS_GPU_LAB_RELEASES is set", () => {
  const userEnvironment = {
    PATH: "/usr/bin",
    GOCACHE: "/left",
    GOMODCACHE: "/left",
    XDG_CACHE_HOME: "/left",
  };
  const labEnvironment = {
    PATH: "/usr/bin",
    GOCACHE: "/empty/go",
    GOMODCACHE: "/empty/modules",
    XDG_CACHE_HOME: "/empty/tools",
    TALOS_GPU_LAB_TOOLS: "own",
    TALOS_GPU_LAB_RELEASES: "none",
  };
  expect(firstLabEnvironment("/empty", userEnvironment)).toEqual(labEnvironment);
  const releases = { TALOS_GPU_LAB_RELEASES: "http://127.0.0.1:8080" };
  expect(firstLabEnvironment("/empty", { ...userEnvironment, ...releases })).toEqual({
    ...labEnvironment,
    ...releases,
  });
});
