import { expectPlan } from "./expect-plan";

test("control planes are upgraded one after another, and all workers wait for the last control plane", () =>
  expectPlan(
    { base: "modern" },
    {
      after: {
        "cp-1": [],
        "cp-2": ["cp-1"],
        "cp-3": ["cp-2"],
        "gpu-1": ["cp-3"],
        "gpu-2": ["cp-3"],
      },
      notes: [
        /gpu-1 will go from Talos ≤ 1.12 to ≥ 1.13/,
        /machines.gpu-1.powerLimit: it is unknown whether the RTX 4090 accepts 400 W/,
      ],
    },
  ));
