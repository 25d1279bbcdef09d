import type { Clock } from "../../../components/clients/clock";

/** A clock whose time passes at once when a caller sleeps. It runs the callbacks that are due meanwhile. */
export class FakeClock implements Clock {
  private time = 0;
  private timers: { time: number; callback: () => void }[] = [];

  now(): number {
    return this.time;
  }

  async sleep(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    for (;;) {
      const next = this.timers.filter(({ time }) => time <= end).sort((a, b) => a.time - b.time)[0];
      if (next === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.time = next.time;
      next.callback();
    }
    this.time = end;
  }

  after(seconds: number, callback: () => void): void {
    this.timers.push({ time: this.time + seconds * 1_000, callback });
  }
}
