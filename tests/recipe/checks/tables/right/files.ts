import { doc, machine, type RightPatch } from "./patch";

/** What a whole file may look like: notations of YAML, comments, several documents. */
export const filePatches: RightPatch[] = [
  [12, "machine:\n  sysctls: &more {vm.swappiness: 10}\n  sysfs: *more\n"],
  [12, "machine:\n  sysctls: &more {vm.swappiness: 10}\n  sysfs: {<<: *more, a.b: c}\n"],
  [12, '{"machine": {"sysctls": {"vm.swappiness": "10"}}}'],
  [12, "---\nmachine:\n  sysctls:\n    vm.swappiness: 10\n---\n"],
  [12, "# nothing but a comment\n"],
  [12, "version: v1alpha1\ndebug: false\npersist: true\nmachine: {sysctls: {a: b}}\n"],
  [12, "debug: true\n"],
  [
    12,
    "cluster:\n  inlineManifests:\n    - name: ns\n      contents: |\n        apiVersion: v1\n        kind: Namespace\n        metadata: {name: gpu}\n",
  ],
  [12, "cluster:\n  inlineManifests:\n    - name: two\n      contents: |\n        a: b\n        ---\n        c: d\n"],
  [12, "machine:\n  network:\n    interfaces:\n      - interface: eth0\n        $patch: delete\n"],
  [
    12,
    machine("{sysctls: {a: b}}") +
      "---\n" +
      doc("KmsgLogConfig", "name: a\nurl: tcp://10.0.0.1:1") +
      "---\n" +
      doc("KmsgLogConfig", "name: b\nurl: tcp://10.0.0.2:1"),
  ],
];
