import { formats } from "../../cli/check/formats";
import { printable } from "../../cli/printable";

test("what would steer a terminal is shown, text and the command's own colours stay", () => {
  expect(printable("a\tb\nc é", false)).toBe("a\tb\nc é");
  expect(printable("\x1b]0;title\x07\x9b31m\r\u202e", true)).toBe("\\u001b]0;title\\u0007\\u009b31m\\u000d\\u202e");
  expect(printable("\x1b[31mred\x1b[39m\x1b[8mhidden", true)).toBe("\x1b[31mred\x1b[39m\\u001b[8mhidden");
  expect(printable("\x1b[31mred", false)).toBe("\\u001b[31mred");
  expect(JSON.parse(printable(JSON.stringify("\x7f\u202e"), false))).toBe("\x7f\u202e");
});

test("a finding is one line, whatever its file is called", () => {
  const said = { check: "c", problem: "p\n::error::x", why: "w", remedy: "r", talos: ["v1.13.0"], line: 1 };
  const lines = formats["text"]!([{ ...said, file: "a\n::set-output name=x::y" }] as never).split("\n");
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe("");
});
