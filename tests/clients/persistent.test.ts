import { persistent, waitFor } from "../../components/clients/clock";
import { CallError, type CallErrorKind } from "../../components/clients/failure";
import { FakeClock } from "../program/fakes";

/** A client whose first calls fail. */
class UnreliableClient {
  requestCount = 0;
  constructor(
    private failureCount: number,
    private readonly problem: CallErrorKind = "unreachable",
    private readonly retryAfter?: number,
  ) {}
  async ask(): Promise<string> {
    this.requestCount++;
    if (this.failureCount-- > 0) throw new CallError(this.problem, "no answer", this.retryAfter);
    return "answer";
  }
}

test("a call outside of a wait is tried up to five times if it gets no answer", async () => {
  const clock = new FakeClock();
  expect(await persistent(clock, new UnreliableClient(2)).ask()).toBe("answer");
  expect(clock.now()).toBe(3_000);
  const unreachableClient = new UnreliableClient(100);
  await expect(persistent(clock, unreachableClient).ask()).rejects.toThrow("no answer");
  expect(unreachableClient.requestCount).toBe(5);
});

test.each([
  [7_000, 7_000],
  [200, 1_000],
  [3_600_000, 30_000],
])(
  "if a server sets a pause of %d ms, a call is repeated after %d ms",
  async (requestedPause, expectedPause) => {
    const clock = new FakeClock();
    expect(await persistent(clock, new UnreliableClient(1, "busy", requestedPause)).ask()).toBe(
      "answer",
    );
    expect(clock.now()).toBe(expectedPause);
  },
);

test.each([
  [25_000, 25_000],
  [200, 10_000],
  [3_600_000, 30_000],
])(
  "if a server sets a pause of %d ms, a wait of 10 s continues after %d ms",
  async (requestedPause, expectedPause) => {
    const clock = new FakeClock();
    const client = persistent(clock, new UnreliableClient(1, "busy", requestedPause));
    const look = async () => ({ done: await client.ask() });
    expect(await waitFor(clock, { subject: "it", limit: 60_000, poll: 10_000, look })).toBe(
      "answer",
    );
    expect(clock.now()).toBe(expectedPause);
  },
);

test("a call fails after two pauses if the server keeps setting long ones", async () => {
  const clock = new FakeClock();
  const client = new UnreliableClient(100, "busy", 3_600_000);
  await expect(persistent(clock, client).ask()).rejects.toThrow("no answer");
  expect(clock.now()).toBe(60_000);
  expect(client.requestCount).toBe(3);
});

test("a refused call is not repeated", async () => {
  const client = new UnreliableClient(1, "refused");
  await expect(persistent(new FakeClock(), client).ask()).rejects.toThrow("no answer");
  expect(client.requestCount).toBe(1);
});

test("a call within a wait is repeated only by the wait", async () => {
  const clock = new FakeClock();
  const client = persistent(clock, new UnreliableClient(1));
  const look = async () => ({ done: await client.ask() });
  expect(await waitFor(clock, { subject: "it", limit: 60_000, poll: 20_000, look })).toBe("answer");
  expect(clock.now()).toBe(20_000);
});
