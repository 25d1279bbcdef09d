import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { ofVllm } from "../../../components/recipe/facts/data/cuda.json";
import { helpers, workloads } from "../../../components/recipe/facts/data/images.json";
import { isServed } from "../../../generate/facts/registries";
import { renewAll } from "../../../generate/facts/renew-all";
import { renewDigests } from "../../../generate/facts/renew-digests";
import { newerThanTables, renewImages } from "../../../generate/facts/renew-images";

const data = path.resolve("components/recipe/facts/data");
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));
afterEach(() => void jest.restoreAllMocks());

/** The two tables in a new folder. */
function copyTables(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-images-"));
  folders.push(folder);
  for (const file of ["cuda.json", "images.json"])
    fs.copyFileSync(path.join(data, file), path.join(folder, file));
  return folder;
}

const tableIn = (folder: string, file: string): any =>
  JSON.parse(fs.readFileSync(path.join(folder, file), "utf8"));

/** Answers of registries by the beginning of a URL: JSON, a status, or an error in place of a server. */
function mockRegistries(answers: Record<string, object | number | Error>): jest.SpyInstance {
  return jest.spyOn(globalThis, "fetch").mockImplementation((input) => {
    const url = input as string;
    const [, answer = 404] =
      Object.entries(answers).find(([prefix]) => url.startsWith(prefix)) ?? [];
    if (answer instanceof Error) return Promise.reject(answer);
    if (typeof answer === "number") return Promise.resolve(new Response(null, { status: answer }));
    return Promise.resolve(Response.json(answer));
  });
}

const pypiAnswer = (version: string) => ({
  info: { version },
  urls: [{ upload_time: "2027-01-15T10:00:00" }],
});
const gitHubAnswer = (tag: string) => ({ tag_name: tag, published_at: "2027-02-01T10:00:00Z" });
const noServer = new TypeError("fetch failed");
const newerReleases = {
  "https://pypi.org/pypi/vllm/": pypiAnswer("9.0.1"),
  "https://pypi.org/pypi/litellm/": pypiAnswer("9.1.0"),
  "https://api.github.com/repos/ollama/": gitHubAnswer("v9.2.0"),
  "https://registry-1.docker.io/v2/": 200,
  "https://ghcr.io/v2/": 200,
};

test("newer releases are written with their month if a registry serves their images, and nothing else changes", async () => {
  mockRegistries(newerReleases);
  const folder = copyTables();
  const lines = await renewImages(folder);
  expect(lines).toEqual([
    expect.stringMatching(/^vLLM: \S+ → 9\.0\.1 \(2027-01\)$/),
    expect.stringMatching(/^LiteLLM: \S+ → 9\.1\.0 \(2027-01\)$/),
    expect.stringMatching(/^Ollama: \S+ → 9\.2\.0 \(2027-02\)$/),
  ]);
  const [cuda, images] = [tableIn(folder, "cuda.json"), tableIn(folder, "images.json")];
  expect(cuda.ofVllm[0]).toEqual({ ...ofVllm[0], image: "v9.0.1", released: "2027-01" });
  expect(images.workloads).toEqual({
    ...workloads,
    litellm: "ghcr.io/berriai/litellm:v9.1.0",
    ollama: "ollama/ollama:9.2.0",
  });
  expect(images.released).toEqual({ litellm: "2027-01", ollama: "2027-02" });
  const [cudaBefore, imagesBefore] = [tableIn(data, "cuda.json"), tableIn(data, "images.json")];
  expect({ ...cuda, ofVllm: cudaBefore.ofVllm }).toEqual(cudaBefore);
  expect({ ...images, workloads, released: imagesBefore.released }).toEqual(imagesBefore);
});

test("a release whose image no registry serves is reported, and not written", async () => {
  mockRegistries({ ...newerReleases, "https://ghcr.io/v2/": 404 });
  const folder = copyTables();
  expect(await renewImages(folder)).toContainEqual(
    "LiteLLM 9.1.0: is published, but ghcr.io/berriai/litellm:v9.1.0 is not served; left as it is",
  );
  expect(tableIn(folder, "images.json").workloads.litellm).toBe(workloads.litellm);
});

test("if a source of releases does not answer, its row stays unchanged, and other rows are renewed", async () => {
  mockRegistries({
    ...newerReleases,
    "https://pypi.org/pypi/vllm/": noServer,
    "https://api.github.com/repos/ollama/": 403,
  });
  const folder = copyTables();
  const lines = await renewImages(folder);
  expect(lines[0]).toBe("vLLM: left as it is: https://pypi.org/pypi/vllm/json: fetch failed");
  expect(lines[1]).toMatch(/^LiteLLM: .* → 9\.1\.0/);
  expect(lines[2]).toMatch(/^Ollama: left as it is: .*answers 403$/);
  expect(tableIn(folder, "cuda.json")).toEqual(tableIn(data, "cuda.json"));
});

test("if no release is newer, no registry gets a request, and nothing changes", async () => {
  const fetchMock = mockRegistries({
    "https://pypi.org/pypi/vllm/": pypiAnswer("0.1.0"),
    "https://pypi.org/pypi/litellm/": pypiAnswer("1.0.0"),
    "https://api.github.com/repos/ollama/": gitHubAnswer("v0.1.0"),
  });
  const folder = copyTables();
  expect(await renewImages(folder)).toEqual([]);
  expect(fetchMock).toHaveBeenCalledTimes(3);
  expect(tableIn(folder, "images.json")).toEqual(tableIn(data, "images.json"));
});

test("isServed gets the token of the registry's challenge, and repeats its request with the token", async () => {
  const challenge =
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull"';
  const requests: { url: string; authorization: string | undefined }[] = [];
  jest.spyOn(globalThis, "fetch").mockImplementation((input, options) => {
    const { authorization } = (options?.headers ?? {}) as { authorization?: string };
    requests.push({ url: input as string, authorization });
    if ((input as string).startsWith("https://auth.example/"))
      return Promise.resolve(Response.json({ token: "t" }));
    return Promise.resolve(
      authorization === undefined
        ? new Response(null, { status: 401, headers: { "www-authenticate": challenge } })
        : new Response(null, { status: 200 }),
    );
  });
  expect(await isServed("registry.example/a/b:1")).toBe(true);
  expect(requests).toEqual([
    { url: "https://registry.example/v2/a/b/manifests/1", authorization: undefined },
    {
      url: "https://auth.example/token?service=registry.example&scope=repository%3Aa%2Fb%3Apull",
      authorization: undefined,
    },
    { url: "https://registry.example/v2/a/b/manifests/1", authorization: "Bearer t" },
  ]);
});

test("a digest is renewed when the tag in its registry names a new image", async () => {
  const newDigest = `sha256:${"a".repeat(64)}`;
  const digestOf = (image: string): string => image.split("@")[1]!;
  const urls: string[] = [];
  jest.spyOn(globalThis, "fetch").mockImplementation((input) => {
    const url = input as string;
    urls.push(url);
    const served = url.includes("busybox")
      ? newDigest
      : digestOf(url.includes("ubuntu") ? helpers.powerLimit : helpers.dcgmExporter);
    const headers = { "docker-content-digest": served };
    return Promise.resolve(new Response(null, { status: 200, headers }));
  });
  const folder = copyTables();
  const [tag, digest] = helpers.validationMarkers.split("@");
  expect(await renewDigests(folder)).toEqual([`${tag}: ${digest} → ${newDigest}`]);
  expect(urls).toEqual([
    "https://registry-1.docker.io/v2/library/busybox/manifests/1.37",
    "https://registry-1.docker.io/v2/library/ubuntu/manifests/24.04",
    "https://nvcr.io/v2/nvidia/k8s/dcgm-exporter/manifests/4.5.3-4.8.2-distroless",
  ]);
  expect(tableIn(folder, "images.json")).toEqual({
    ...tableIn(data, "images.json"),
    helpers: { ...helpers, validationMarkers: `${tag}@${newDigest}` },
  });
});

test("a digest stays unchanged if the registry gives none for the tag", async () => {
  mockRegistries({ "https://registry-1.docker.io/v2/library/ubuntu/": 200 });
  const folder = copyTables();
  expect(await renewDigests(folder)).toEqual([]);
  expect(tableIn(folder, "images.json")).toEqual(tableIn(data, "images.json"));
});

test("charts and CUDA releases newer than the tables are reported, as are sources that fail", async () => {
  mockRegistries({
    "https://api.github.com/repos/NVIDIA/gpu-operator/": gitHubAnswer("v99.1.0"),
    "https://api.github.com/repos/NVIDIA/k8s-device-plugin/": gitHubAnswer("v0.1.0"),
    "https://api.github.com/repos/kubernetes-sigs/lws/": noServer,
    "https://pypi.org/pypi/nvidia-cuda-runtime/": pypiAnswer("99.4.12"),
  });
  expect(await newerThanTables()).toEqual([
    expect.stringMatching(/^gpu-operator 99\.1\.0: the tables end at /),
    expect.stringMatching(/^dra-driver-nvidia-gpu: left as it is: .*answers 404$/),
    expect.stringMatching(/^lws: left as it is: .*fetch failed$/),
    expect.stringMatching(/^CUDA 99\.4: the table of driver branches ends at /),
  ]);
});

test("if one source does not answer, the others are still renewed", async () => {
  const renewed = await renewAll({
    a: () => Promise.reject(new Error("no server there")),
    b: () => Promise.resolve(["b: 1 → 2"]),
  });
  expect(renewed).toEqual({
    lines: ["a: left as they are: no server there", "b: 1 → 2"],
    failed: 1,
    renewalCount: 2,
  });
});
