import { dcgmMetrics } from "../facts/data/dcgm";

/** One graph: what it shows, as PromQL, and in which unit of Grafana's. */
interface Graph {
  title: string;
  expression: string;
  /** Unit as Grafana names it, e.g. `watt`. */
  unit: string;
  /** Upper end of the axis; undefined: by the data. */
  max?: number;
}

const { power, utilization, memoryUsed, memoryFree, temperature, smClock, xid } = dcgmMetrics;
const of = (metric: string): string => `${metric}{Hostname=~"$node"}`;

/** Two in a row, from the top. Metrics are per card, also where cards are shared (dcgm-exporter#587). */
const graphs: Graph[] = [
  { title: "Utilization", expression: of(utilization), unit: "percent", max: 100 },
  { title: "Power", expression: of(power), unit: "watt" },
  {
    title: "Memory in use",
    expression: `100 * ${of(memoryUsed)} / (${of(memoryUsed)} + ${of(memoryFree)})`,
    unit: "percent",
    max: 100,
  },
  { title: "Temperature", expression: of(temperature), unit: "celsius" },
  { title: "SM clock", expression: `${of(smClock)} * 1e6`, unit: "hertz" },
  { title: "Last XID error (0: none)", expression: of(xid), unit: "none" },
];

const datasource = { type: "prometheus", uid: "${datasource}" };

/**
 * A Grafana dashboard of the cards, as its JSON model (grafana.com/docs, dashboard JSON model). It asks for the data source
 * and the node by variables, so that it fits any Prometheus that scrapes the exporter.
 */
export function gpuDashboard(): Record<string, unknown> {
  return {
    uid: "talos-gpu",
    title: "NVIDIA GPUs on Talos",
    tags: ["nvidia", "talos-gpu"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: {
      list: [
        { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
        {
          name: "node",
          type: "query",
          label: "Node",
          datasource,
          query: `label_values(${utilization}, Hostname)`,
          refresh: 2,
          includeAll: true,
          multi: true,
          current: { text: "All", value: "$__all" },
        },
      ],
    },
    panels: graphs.map(panel),
  };
}

function panel({ title, expression, unit, max }: Graph, index: number): Record<string, unknown> {
  return {
    id: index + 1,
    type: "timeseries",
    title,
    datasource,
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0, ...(max === undefined ? {} : { max }) }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
    targets: [{ refId: "A", expr: expression, legendFormat: "{{Hostname}} GPU {{gpu}} {{modelName}}", datasource }],
  };
}
