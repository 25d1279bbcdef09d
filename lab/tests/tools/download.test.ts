import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import type { ServerResponse } from "node:http";
import * as path from "node:path";
import { provide } from "../../tools/provide";
import type { Timer } from "../../tools/builders/download";
import { platforms, echoScript, PublishedTool, outputOf } from "./published-tool";
import { createArchive, sendHalf, respondWithStatus, sha256 } from "./release-page";

describe("a tool that its project publishes", () => {
  let tool: PublishedTool;
  beforeEach(async () => {
    tool = await PublishedTool.create();
  });
  afterEach(() => tool.remove());

  test("is downloaded only once, and then comes from the cache", async () => {
    tool.publish();
    const runningTimers = new Set<() => void>();
    const timer: Timer = (_, onTimeout) => {
      runningTimers.add(onTimeout);
      return () => runningTimers.delete(onTimeout);
    };
    const binary = await tool.provide({ timer });
    expect(runningTimers.size).toBe(0);
    expect(outputOf(binary, "--now")).toBe("published --now");
    expect(tool.sandbox.eventStates()).toEqual(["downloading", "downloaded"]);
    expect(tool.messages()).toEqual([
      "helm: downloading 0 s from HOST",
      expect.stringMatching(/^helm: downloaded \d+ s \//),
    ]);
    expect(tool.page.requestedPaths).toEqual([
      `releases.example/${tool.fileName}.sha256`,
      `releases.example/${tool.fileName}`,
    ]);
    expect(tool.sandbox.cacheEntries()).toEqual([path.basename(path.dirname(binary))]);

    tool.sandbox.events.length = 0;
    expect(await tool.provide()).toBe(binary);
    expect(tool.sandbox.eventStates()).toEqual(["cached"]);
    expect(tool.page.requestedPaths).toHaveLength(2);
  });

  test("with several files and archives is assembled with the lab's launcher script", async () => {
    const launcher = tool.sandbox.writeScript(
      "launcher.sh",
      'folder=$(dirname "$0")\ncalled=$1\nshift\nexec "$folder/$called" "$@"',
    );
    const sums = "https://b.example/SHA256SUMS";
    const files = [
      {
        of: "example.test/tool",
        programs: ["one", "two"],
        address: "https://a.example/${version}/${program}",
        sums,
      },
      {
        of: "example.test/tool",
        programs: ["three"],
        address: "https://b.example/${number}-${node}.tar.gz",
        within: "t-${os}/x",
        sums,
      },
    ];
    tool.definition = { ...tool.definition, release: { platforms, files, launcher } };
    const archive = createArchive(tool.sandbox.folder, {
      [`t-${process.platform}/x/three`]: echoScript("three"),
      [`t-${process.platform}/README`]: "text",
    });
    tool.page.put("https://a.example/v1.2.3/one", echoScript("one"));
    tool.page.put("https://a.example/v1.2.3/two", echoScript("two"));
    tool.page.put(`https://b.example/1.2.3-${process.arch}.tar.gz`, archive);
    const sumLines = [
      `${sha256(echoScript("one"))} *one`,
      `${sha256(echoScript("two"))}  ./two`,
      `${sha256(archive)}  1.2.3-${process.arch}.tar.gz`,
    ];
    tool.page.put(sums, `${sumLines.join("\n")}\n`);

    const binary = await tool.provide();
    for (const program of ["one", "two", "three"])
      expect(outputOf(binary, program, "--flag")).toBe(`${program} --flag`);
    expect(fs.readdirSync(path.dirname(binary)).sort()).toEqual(["helm", "one", "three", "two"]);
  });

  interface FailingDownload {
    problem: string;
    preparePage: () => void;
    reason: string;
  }

  const destroyResponse = (response: ServerResponse): void => void response.destroy();

  test.each<FailingDownload>([
    {
      problem: "its checksum file is forbidden",
      preparePage: () => tool.page.respondTo(".sha256", respondWithStatus(403)),
      reason: "HOST: answers 403",
    },
    {
      problem: "it has no checksum file",
      preparePage: () => tool.page.put(tool.fileAddress, echoScript("published")),
      reason: "HOST: answers 404",
    },
    {
      problem: "its file is gone",
      preparePage: () => tool.page.put(`${tool.fileAddress}.sha256`, sha256("")),
      reason: "HOST: answers 404",
    },
    {
      problem: "its file is forbidden",
      preparePage: () => {
        tool.publish();
        tool.page.respondTo(tool.fileName, respondWithStatus(403));
      },
      reason: "HOST: answers 403",
    },
    {
      problem: "its checksum file lists other files",
      preparePage: () => tool.publish(echoScript("published"), `${sha256("")}  helm-v1.2.4`),
      reason: `http://HOST/releases.example/NAME.sha256 has no sum of NAME`,
    },
    {
      problem: "its checksum is wrong",
      preparePage: () => tool.publish("half", sha256("whole")),
      reason: `http://HOST/releases.example/NAME has the SHA-256 sum ${sha256("half")}, and its project says ${sha256("whole")}`,
    },
    {
      problem: "the connection breaks in the file",
      preparePage: () => {
        tool.publish();
        tool.page.respondTo(tool.fileName, sendHalf(destroyResponse));
      },
      reason: "HOST: other side closed",
    },
    {
      problem: "the connection breaks in the checksum file",
      preparePage: () => {
        tool.publish();
        tool.page.respondTo(".sha256", sendHalf(destroyResponse));
      },
      reason: "HOST: other side closed",
    },
  ])(
    "is built from source if $problem, and one line gives the reason",
    async ({ preparePage, reason }) => {
      preparePage();
      await tool.expectBuildFromSource();
      const lines = tool.messages().map((line) => line.replaceAll(tool.fileName, "NAME"));
      expect(lines.filter((line) => line.includes("built from source"))).toEqual([
        `helm: built from source, since no release can be downloaded (${reason}); TALOS_GPU_LAB_RELEASES=none turns downloads off`,
      ]);
    },
  );

  test.each<[string, () => string | Buffer]>([
    ["is broken", () => "no archive"],
    [
      "lacks the program",
      () => createArchive(tool.sandbox.folder, { "folder/README": "no program" }),
    ],
  ])("is built from source if its archive %s", async (_problem, archiveContent) => {
    const release = tool.definition.release!;
    const archiveFile = { ...release.files[0]!, within: "folder" };
    tool.definition = { ...tool.definition, release: { ...release, files: [archiveFile] } };
    tool.publish(archiveContent());
    await tool.expectBuildFromSource();
    expect(tool.messages().join("\n")).toContain(`tar cannot unpack ${tool.fileName}: `);
  });

  test("is built if the server does not answer, and one line lists all such tools", async () => {
    await tool.page.close();
    const otherTool = { ...tool.definition, name: "pulumi" };
    await provide([tool.definition, otherTool], tool.options);
    expect(tool.messages().filter((line) => line.includes("no release"))).toEqual([
      "helm, pulumi: built from source, since no release can be downloaded (HOST: ECONNREFUSED); TALOS_GPU_LAB_RELEASES=none turns downloads off",
    ]);
  });

  /** A timer on which only the limit of this length is ever over: as soon as `isOver` returns true. */
  const timerThatEndsWhen = (limit: number, isOver: () => boolean): Timer => {
    return (milliseconds, onTimeout) => {
      if (milliseconds !== limit) return () => undefined;
      const interval = setInterval(() => {
        if (!isOver()) return;
        clearInterval(interval);
        onTimeout();
      }, 5);
      return () => clearInterval(interval);
    };
  };

  test.each([
    [".sha256", 5_000, "HOST: no answer within 5 s"],
    ["", 15_000, "HOST: nothing more within 15 s"],
    ["", 300_000, "not all of it within 300 s"],
  ])(
    "is built if the server stalls with the file %j for %i ms",
    async (suffix, limit, expectedReason) => {
      tool.publish();
      let hasStalled = false;
      tool.page.respondTo(
        `${tool.fileName}${suffix}`,
        sendHalf(() => (hasStalled = true)),
      );
      await tool.expectBuildFromSource({ timer: timerThatEndsWhen(limit, () => hasStalled) });
      expect(tool.messages().join("\n")).toContain(`(${expectedReason})`);
    },
  );

  test("is not left incomplete by a killed download, whose files the next attempt removes", async () => {
    tool.publish();
    const halfSent = new Promise<void>((resolve) => {
      tool.page.respondTo(
        tool.fileName,
        sendHalf(() => resolve()),
      );
    });
    const child = spawn(
      process.execPath,
      ["lab/bundle/run.js", "lab/tests/tools/provide-once.ts", JSON.stringify(tool.definition)],
      { env: tool.options.env, stdio: "inherit" },
    );
    const ended = once(child, "close");
    await Promise.race([
      halfSent,
      ended.then(() => Promise.reject(new Error("the process ended early"))),
    ]);
    child.kill("SIGKILL");
    await ended;
    const entries = tool.sandbox.cacheEntries();
    expect(entries.filter((entry) => !/\.(lock|unfinished)$/.test(entry))).toEqual([]);
    expect(entries.filter((entry) => entry.endsWith(".unfinished"))).toHaveLength(1);

    tool.page.respondTo(tool.fileName, (response, content) => void response.end(content));
    const binary = await tool.provide();
    expect(outputOf(binary)).toBe("published");
    expect(tool.sandbox.cacheEntries()).toEqual([path.basename(path.dirname(binary))]);
  });

  test("is not built when the user stops the download", async () => {
    tool.publish();
    const stop = new AbortController();
    tool.page.respondTo(
      tool.fileName,
      sendHalf(() => stop.abort(new Error("stopped by the user"))),
    );
    await expect(tool.provide({ signal: stop.signal })).rejects.toThrow("stopped by the user");
    expect(tool.sandbox.cacheEntries()).toEqual([]);
  });

  test("is downloaded while other tools are built, and its download is cut off if a build fails", async () => {
    tool.publish();
    const broken = {
      ...tool.sandbox.createTool("package main\n\nfunc main() { missing() }\n"),
      name: "machines",
    };
    const closed = new Promise((resolve) => {
      tool.page.respondTo(
        tool.fileName,
        sendHalf((response) => void response.once("close", resolve)),
      );
    });
    await expect(provide([tool.definition, broken], tool.options)).rejects.toThrow(
      "machines: `go build` ended",
    );
    await closed;
    expect(tool.sandbox.cacheEntries()).toEqual([]);
  });

  test("without a release for this platform is built, and no server gets a request", async () => {
    tool.publish();
    tool.definition = {
      ...tool.definition,
      release: { ...tool.definition.release!, platforms: ["plan9/mips"] },
    };
    await tool.expectBuildFromSource();
    expect(tool.page.requestedPaths).toEqual([]);
  });

  test("is built if downloads are turned off, even with an earlier download in the cache", async () => {
    tool.publish();
    const downloaded = await tool.provide();
    const env = { ...tool.options.env, TALOS_GPU_LAB_RELEASES: "none" };
    const built = await tool.provide({ env });
    expect(built).not.toBe(downloaded);
    expect(tool.page.requestedPaths).toHaveLength(2);
    expect(tool.sandbox.cacheEntries()).toHaveLength(2);
    // The built tool exists already, so the published one is not downloaded.
    expect(await tool.provide()).toBe(built);
  });

  test("is refused if TALOS_GPU_LAB_RELEASES is not a URL", async () => {
    const env = { ...tool.options.env, TALOS_GPU_LAB_RELEASES: "mirror.example" };
    await expect(tool.provide({ env })).rejects.toThrow(
      'TALOS_GPU_LAB_RELEASES: "mirror.example" is not a URL, so no release can be downloaded from it; ' +
        "give a mirror's, such as https://mirror.example/releases, or `none` to build all tools from source",
    );
  });
});
