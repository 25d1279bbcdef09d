import { spreadOf } from "../../bench/statistics";

test("the median of an odd number of values is the one in the middle, whatever their order", () =>
  expect(spreadOf([3, 10, 1])).toEqual({ minimum: 1, median: 3, maximum: 10 }));

test("the median of an even number of values lies between the two in the middle", () =>
  expect(spreadOf([8, 1, 4, 2])).toEqual({ minimum: 1, median: 3, maximum: 8 }));

test("numbers are sorted as numbers", () =>
  expect(spreadOf([100, 9, 20])).toEqual({ minimum: 9, median: 20, maximum: 100 }));

test("nothing measured is an error, not a figure", () =>
  expect(() => spreadOf([])).toThrow("no value was measured"));
