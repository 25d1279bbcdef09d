import { spreadOf } from "../../bench/statistics";

test("the median of an odd number of values is the middle one, in any order", () =>
  expect(spreadOf([3, 10, 1])).toEqual({ minimum: 1, median: 3, maximum: 10 }));

test("the median of an even number of values is the mean of the two middle ones", () =>
  expect(spreadOf([8, 1, 4, 2])).toEqual({ minimum: 1, median: 3, maximum: 8 }));

test("values are sorted as numbers, not as texts", () =>
  expect(spreadOf([100, 9, 20])).toEqual({ minimum: 9, median: 20, maximum: 100 }));

test("an empty list of values is an error", () =>
  expect(() => spreadOf([])).toThrow("no value was measured"));
