import { releasesOf } from "../../../components/program/preflight/listed-releases";
import { type Answer, placesOf } from "../../../components/program/preflight/web";
import { factoryImage } from "../fakes";

const image = factoryImage("v1.13.9");

/** Asks an Image Factory with this answer twice. */
async function askFactoryTwice(answer: Answer, env: NodeJS.ProcessEnv = {}, imageName = image) {
  const requestedUrls: string[] = [];
  const logLines: string[] = [];
  const web = { get: async (url: string) => (requestedUrls.push(url), answer) };
  const listReleases = releasesOf(web, placesOf(env), (line) => logLines.push(line));
  const answers = [await listReleases(imageName), await listReleases(imageName)];
  expect(answers[1]).toEqual(answers[0]);
  return { releases: answers[0], requestedUrls, logLines };
}

test("the Image Factory of the image's name is asked once", async () => {
  const body = '["v1.12.6", "1.12.7", "v1.13.0-beta.0", "nonsense", 4]';
  expect(await askFactoryTwice({ status: 200, body })).toEqual({
    releases: ["v1.12.6", "v1.12.7", "v1.13.0-beta.0"],
    requestedUrls: ["https://factory.talos.dev/versions"],
    logLines: [],
  });
});

test("TALOS_GPU_FACTORY replaces the Image Factory of the image's name", async () => {
  const { requestedUrls } = await askFactoryTwice(
    { status: 200, body: '["v1.12.6"]' },
    { TALOS_GPU_FACTORY: "http://localhost:1/" },
  );
  expect(requestedUrls).toEqual(["http://localhost:1/versions"]);
});

test.each<[string, Answer]>([
  ["no answer", { silent: "ECONNREFUSED" }],
  [
    "an answer through a proxy",
    { unknown: "not asked, because this server is behind a proxy, and the check uses no proxy" },
  ],
  ["the answer 404", { status: 404, body: "404 page not found" }],
  ["an answer that is no list", { status: 200, body: '{"a": 1}' }],
  ["an empty list", { status: 200, body: "[]" }],
  ["an answer that is no JSON", { status: 200, body: "<html>" }],
])(
  "if the Image Factory gives %s, the package's tables are used, and a line reports that",
  async (_, answer) => {
    const { releases, logLines } = await askFactoryTwice(answer);
    expect(releases).toBeUndefined();
    expect(logLines).toEqual([
      expect.stringContaining("the program uses the newest patch release that this package knows"),
    ]);
  },
);

test("an image that is not from an Image Factory causes no request", async () => {
  const { releases, requestedUrls } = await askFactoryTwice(
    { status: 200, body: '["v1.12.6"]' },
    {},
    "ghcr.io/siderolabs/installer:v1.13.9",
  );
  expect(releases).toBeUndefined();
  expect(requestedUrls).toEqual([]);
});
