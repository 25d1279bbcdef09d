import { persistent, waitFor } from "../../components/clients/clock";
import { CallError, type CallErrorKind } from "../../components/clients/failure";
import { FakeClock } from "../program/fakes";

/** A client whose first calls fail. */
class Client {
  asked = 0;
  constructor(
    private fails: number,
    private readonly problem: CallErrorKind = "unreachable",
    private readonly retryAfter?: number,
  ) {}
  async ask(): Promise<string> {
    this.asked++;
    if (this.fails-- > 0) throw new CallError(this.problem, "no answer", this.retryAfter);
    return "answer";
  }
}

test("a call outside of a wait is tried up to five times if it gets no answer", async () => {
  const clock = new FakeClock();
  expect(await persistent(clock, new Client(2)).ask()).toBe("answer");
  expect(clock.now()).toBe(3_000);
  const dead = new Client(100);
  await expect(persistent(clock, dead).ask()).rejects.toThrow("no answer");
  expect(dead.asked).toBe(5);
});

test.each([
  [7_000, 7_000],
  [200, 1_000],
  [3_600_000, 30_000],
])("if a server sets a pause of %d ms, a call is repeated after %d ms", async (asked, waited) => {
  const clock = new FakeClock();
  expect(await persistent(clock, new Client(1, "busy", asked)).ask()).toBe("answer");
  expect(clock.now()).toBe(waited);
});

test.each([
  [25_000, 25_000],
  [200, 10_000],
  [3_600_000, 30_000],
])(
  "if a server sets a pause of %d ms, a wait of 10 s continues after %d ms",
  async (asked, waited) => {
    const clock = new FakeClock();
    const client = persistent(clock, new Client(1, "busy", asked));
    const look = async () => ({ done: await client.ask() });
    expect(await waitFor(clock, { what: "it", limit: 60_000, poll: 10_000, look })).toBe("answer");
    expect(clock.now()).toBe(waited);
  },
);

test("a call fails after two pauses if the server keeps setting long ones", async () => {
  const clock = new FakeClock();
  const client = new Client(100, "busy", 3_600_000);
  await expect(persistent(clock, client).ask()).rejects.toThrow("no answer");
  expect(clock.now()).toBe(60_000);
  expect(client.asked).toBe(3);
});

test("a refused call is not repeated", async () => {
  const client = new Client(1, "refused");
  await expect(persistent(new FakeClock(), client).ask()).rejects.toThrow("no answer");
  expect(client.asked).toBe(1);
});

test("a call within a wait is repeated only by the wait", async () => {
  const clock = new FakeClock();
  const client = persistent(clock, new Client(1));
  const look = async () => ({ done: await client.ask() });
  expect(await waitFor(clock, { what: "it", limit: 60_000, poll: 20_000, look })).toBe("answer");
  expect(clock.now()).toBe(20_000);
});
