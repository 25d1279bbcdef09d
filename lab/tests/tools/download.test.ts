import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { provide } from "../../tools/provide";
import type { Timer } from "../../tools/builders/download";
import { platforms, program, PublishedTool, says } from "./published-tool";
import { archive, half, refuses, sha256 } from "./release-page";

describe("a tool that its project publishes", () => {
  let its: PublishedTool;
  beforeEach(async () => {
    its = await PublishedTool.make();
  });
  afterEach(() => its.remove());

  test("is downloaded, once", async () => {
    its.publish();
    const running = new Set<() => void>();
    const timer: Timer = (_, then) => {
      running.add(then);
      return () => running.delete(then);
    };
    const binary = await its.provide({ timer });
    expect(running.size).toBe(0);
    expect(says(binary, "--now")).toBe("published --now");
    expect(its.sandbox.states()).toEqual(["downloading", "downloaded"]);
    expect(its.said()).toEqual([
      "helm: downloading 0 s from HOST",
      expect.stringMatching(/^helm: downloaded \d+ s \//),
    ]);
    expect(its.page.asked).toEqual([
      `releases.example/${its.name}.sha256`,
      `releases.example/${its.name}`,
    ]);
    expect(its.sandbox.cached()).toEqual([path.basename(path.dirname(binary))]);

    its.sandbox.events.length = 0;
    expect(await its.provide()).toBe(binary);
    expect([its.sandbox.states(), its.page.asked.length]).toEqual([["cached"], 2]);
  });

  test("with several files and archives is assembled with the lab's launcher script", async () => {
    const launcher = its.sandbox.script(
      "launcher.sh",
      'folder=$(dirname "$0")\ncalled=$1\nshift\nexec "$folder/$called" "$@"',
    );
    const files = [
      {
        of: "example.test/tool",
        programs: ["one", "two"],
        address: "https://a.example/${version}/${program}",
      },
      {
        of: "example.test/tool",
        programs: ["three"],
        address: "https://b.example/${number}-${node}.tar.gz",
        within: "t-${os}/x",
      },
    ].map((each) => ({ ...each, sums: "https://b.example/SHA256SUMS" }));
    its.tool = { ...its.tool, release: { platforms, files, launcher } };
    const packed = archive(its.sandbox.folder, {
      [`t-${process.platform}/x/three`]: program("three"),
      [`t-${process.platform}/README`]: "text",
    });
    its.page.put("https://a.example/v1.2.3/one", program("one"));
    its.page.put("https://a.example/v1.2.3/two", program("two"));
    its.page.put(`https://b.example/1.2.3-${process.arch}.tar.gz`, packed);
    const sums = [`${sha256(program("one"))} *one`, `${sha256(program("two"))}  ./two`];
    its.page.put(
      "https://b.example/SHA256SUMS",
      [...sums, `${sha256(packed)}  1.2.3-${process.arch}.tar.gz`, ""].join("\n"),
    );

    const binary = await its.provide();
    expect(["one", "two", "three"].map((each) => says(binary, each, "--flag"))).toEqual([
      "one --flag",
      "two --flag",
      "three --flag",
    ]);
    expect(fs.readdirSync(path.dirname(binary)).sort()).toEqual(["helm", "one", "three", "two"]);
  });

  test.each<[string, () => void, string]>([
    ["that is forbidden", () => its.page.answer(".sha256", refuses(403)), "HOST: answers 403"],
    [
      "without a file of sums",
      () => its.page.put(its.file, program("published")),
      "HOST: answers 404",
    ],
    [
      "whose file is gone",
      () => its.page.put(`${its.file}.sha256`, sha256("")),
      "HOST: answers 404",
    ],
    [
      "whose file is forbidden",
      () => (its.publish(), its.page.answer(its.name, refuses(403))),
      "HOST: answers 403",
    ],
    [
      "whose sums have other files",
      () => its.publish(program("published"), `${sha256("")}  helm-v1.2.4`),
      `http://HOST/releases.example/NAME.sha256 has no sum of NAME`,
    ],
    [
      "that is corrupt",
      () => its.publish("half", sha256("whole")),
      `http://HOST/releases.example/NAME has the SHA-256 sum ${sha256("half")}, and its project says ${sha256("whole")}`,
    ],
    [
      "whose connection breaks half-way",
      () => (
        its.publish(),
        its.page.answer(
          its.name,
          half((answer) => void answer.destroy()),
        )
      ),
      "HOST: other side closed",
    ],
    [
      "whose sums break half-way",
      () => (
        its.publish(),
        its.page.answer(
          ".sha256",
          half((answer) => void answer.destroy()),
        )
      ),
      "HOST: other side closed",
    ],
  ])("%s is built, and one line says why", async (_, prepare, why) => {
    prepare();
    await its.builds();
    const lines = its.said().map((line) => line.replaceAll(its.name, "NAME"));
    expect(lines.filter((line) => line.includes("built from source"))).toEqual([
      `helm: built from source, since no release can be downloaded (${why}); TALOS_GPU_LAB_RELEASES=none turns downloads off`,
    ]);
  });

  test("with a broken archive, or one without the program, is built", async () => {
    const within = "here";
    its.tool = {
      ...its.tool,
      release: { ...its.tool.release!, files: [{ ...its.tool.release!.files[0]!, within }] },
    };
    its.publish("no archive");
    await its.builds();
    expect(its.said().join("\n")).toContain(`tar cannot unpack ${its.name}: `);
  });

  test("is built if the server does not answer, and one line lists all such tools", async () => {
    await its.page.close();
    const other = { ...its.tool, name: "pulumi" };
    await provide([its.tool, other], its.options);
    expect(its.said().filter((line) => line.includes("no release"))).toEqual([
      "helm, pulumi: built from source, since no release can be downloaded (HOST: ECONNREFUSED); TALOS_GPU_LAB_RELEASES=none turns downloads off",
    ]);
  });

  /** A timer whose limit of that length ends as soon as `isOver` holds. */
  const clock = (limit: number, isOver: () => boolean): Timer => {
    return (milliseconds, then) => {
      if (milliseconds !== limit) return () => undefined;
      const looks = setInterval(() => isOver() && (clearInterval(looks), then()), 5);
      return () => clearInterval(looks);
    };
  };

  test.each([
    [".sha256", 5_000, "HOST: no answer within 5 s"],
    ["", 15_000, "HOST: nothing more within 15 s"],
    ["", 300_000, "not all of it within 300 s"],
  ])("is built if the server stalls with the file %j for %i ms", async (part, limit, why) => {
    its.publish();
    let stalls = false;
    its.page.answer(
      `${its.name}${part}`,
      half(() => (stalls = true)),
    );
    await its.builds({ timer: clock(limit, () => stalls) });
    expect(its.said().join("\n")).toContain(`(${why})`);
  });

  test("is not left incomplete by a killed download, whose files the next attempt removes", async () => {
    its.publish();
    const killed = new Promise<string>((resolve) => {
      its.page.answer(
        its.name,
        half(() => resolve("half")),
      );
    });
    const child = spawn(
      process.execPath,
      ["lab/bundle/run.js", "lab/tests/tools/provide-once.ts", JSON.stringify(its.tool)],
      { env: its.options.env, stdio: "inherit" },
    );
    const ended = once(child, "close");
    await Promise.race([killed, ended.then(() => Promise.reject(new Error("it ended")))]);
    child.kill("SIGKILL");
    await ended;
    expect(its.sandbox.cached().filter((each) => !/\.(lock|unfinished)$/.test(each))).toEqual([]);
    expect(its.sandbox.cached().filter((each) => each.endsWith(".unfinished"))).toHaveLength(1);

    its.page.answer(its.name, (answer, content) => void answer.end(content));
    const binary = await its.provide();
    expect(says(binary)).toBe("published");
    expect(its.sandbox.cached()).toEqual([path.basename(path.dirname(binary))]);
  });

  test("is not built when the user stops the download", async () => {
    its.publish();
    const stop = new AbortController();
    its.page.answer(
      its.name,
      half(() => stop.abort(new Error("stopped by the user"))),
    );
    await expect(its.provide({ signal: stop.signal })).rejects.toThrow("stopped by the user");
    expect(its.sandbox.cached()).toEqual([]);
  });

  test("is downloaded while other tools are built, and its download ends if a build fails", async () => {
    its.publish();
    const broken = {
      ...its.sandbox.tool("package main\n\nfunc main() { missing() }\n"),
      name: "machines",
    };
    const closed = new Promise((resolve) => {
      its.page.answer(
        its.name,
        half((answer) => void answer.once("close", resolve)),
      );
    });
    await expect(provide([its.tool, broken], its.options)).rejects.toThrow(
      "machines: `go build` ended",
    );
    await closed;
    expect(its.sandbox.cached()).toEqual([]);
  });

  test("without a release for this platform is built, and no server is asked", async () => {
    its.publish();
    its.tool = { ...its.tool, release: { ...its.tool.release!, platforms: ["plan9/mips"] } };
    await its.builds();
    expect(its.page.asked).toEqual([]);
  });

  test("is built if downloads are turned off, even with an earlier download in the cache", async () => {
    its.publish();
    const downloaded = await its.provide();
    const env = { ...its.options.env, TALOS_GPU_LAB_RELEASES: "none" };
    const built = await its.provide({ env });
    expect([built === downloaded, its.page.asked.length, its.sandbox.cached().length]).toEqual([
      false,
      2,
      2,
    ]);
    // The built tool exists already, so the published one is not downloaded.
    expect(await its.provide()).toBe(built);
  });

  test("from an invalid mirror address is refused", async () => {
    const env = { ...its.options.env, TALOS_GPU_LAB_RELEASES: "mirror.example" };
    await expect(its.provide({ env })).rejects.toThrow(
      'TALOS_GPU_LAB_RELEASES: "mirror.example" is not a URL, so no release can be downloaded from it; ' +
        "give a mirror's, such as https://mirror.example/releases, or `none` to build all tools from source",
    );
  });
});
