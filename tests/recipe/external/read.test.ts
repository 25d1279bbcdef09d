import { readOutside } from "../../../components/recipe/external/read";
import { fixture, table } from "../../support/table";

/** A row of tests/fixtures/outside.yaml, which says what each part is. */
interface Outside {
  name: string;
  files: Record<string, string>;
  reads: Read | Read[];
}
interface Read {
  version?: string;
  values?: object;
}

test.each(table<Outside>(fixture("outside.yaml"), ["name", "files", "reads"]))(
  "reads %s",
  (_, { files, reads }) => {
    const wanted = [reads].flat();
    const { releases, flaws } = readOutside(
      Object.entries(files).map(([name, text]) => ({ name, text })),
    );
    expect(flaws).toEqual([]);
    expect(releases).toMatchObject(wanted);
    for (const [index, { version, values }] of wanted.entries()) {
      if (version === undefined) expect(releases[index]).not.toHaveProperty("version");
      if (values !== undefined) expect(releases[index]!.values).toEqual(values);
    }
  },
);

test("says what it cannot read, and passes over what is not about it", () => {
  const texts = [
    "kind: [\n",
    "apiVersion: v1\nkind: Secret\n",
    "a: 1\n",
    "- 1\n",
    "{{ template }}\n",
    "",
  ];
  const { releases, flaws } = readOutside(
    texts.map((text, index) => ({ name: `${index}.yaml`, text })),
  );
  expect(releases).toEqual([]);
  expect(flaws.map(({ file }) => file)).toContain("0.yaml");
});
