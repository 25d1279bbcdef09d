import { askForChart, askForInstallers } from "../../../../components/machine/program/preflight/sources";
import type { PreflightTask } from "../../../../components/machine/program/preflight/task";
import { placesOf, RealWeb } from "../../../../components/machine/program/preflight/web";
import { FakeClock, schematics } from "../fakes";
import { archive, index, repository } from "../preflight/stand";
import { Calls, faultKinds, type Fault } from "./faults";

const chart = { name: "gpu-operator", version: "v25.10.1", repository };
const installer = `factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`;

/** What the servers answer. */
const bodies: Record<string, string> = { [`${repository}/index.yaml`]: index, [`${repository}/${archive}`]: "" };

/** An answer whose body ends in the middle. */
const cutOff = (): Response => {
  const error = Object.assign(new TypeError("terminated"), { cause: { code: "UND_ERR_SOCKET" } });
  return new Response(new ReadableStream({ start: (controller) => controller.error(error) }));
};

/** Asks the chart's repository and the Image Factory; one of the requests may fail. */
async function play(failing: { at: number; fault: Fault } | undefined) {
  const clock = new FakeClock();
  const calls = new Calls(clock, failing);
  const fetched = jest.spyOn(globalThis, "fetch").mockImplementation((input) => {
    const url = input as string;
    return calls.meet(
      url,
      () => Promise.resolve(new Response(bodies[url] ?? "{}")),
      ({ code, status }) => {
        if (code !== undefined) throw Object.assign(new TypeError("fetch failed"), { cause: { code } });
        return status === 200 ? cutOff() : new Response("", { status: status! });
      },
    );
  });
  const web = new RealWeb(clock, {});
  const lines: string[] = [];
  const report = (line: string): void => void lines.push(line);
  const findings = [
    ...(await askForChart({ chart } as PreflightTask, web, placesOf({}), report)),
    ...(await askForInstallers([installer], web, placesOf({}), report)),
  ];
  fetched.mockRestore();
  return { calls: calls.made, is: { findings, lines } };
}

test.each(faultKinds)("chart and installer are found where one request fails: $name", async (fault) => {
  const without = await play(undefined);
  expect(without.is.findings).toEqual([]);
  expect(without.is.lines).toEqual(["chart gpu-operator v25.10.1: there", `image ${installer}: there`]);
  expect(without.calls).toHaveLength(3);
  for (const at of without.calls.keys()) expect((await play({ at, fault })).is).toEqual(without.is);
});
