/** The shape that `talosctl gen secrets` and `talosctl gen config` of v1.13.0 write, with invented values. */
const pair = "{crt: Y2VydA==, key: bG9uZy1zZWNyZXQ=}";

export const secretsBundle = `cluster:
    id: aWQ=
    secret: bG9uZy1zZWNyZXQ=
secrets:
    bootstraptoken: zp8du1.0gn7ja4tmx6qulju
    secretboxencryptionsecret: bG9uZy1zZWNyZXQ=
trustdinfo:
    token: 7f96mj.ns0jpllwd6ye0qv1
certs:
    etcd: ${pair}
    k8s: ${pair}
    k8saggregator: ${pair}
    k8sserviceaccount: {key: bG9uZy1zZWNyZXQ=}
    os: ${pair}
`;

export const talosconfig = `context: lab
contexts:
    lab:
        endpoints: [10.0.0.10]
        ca: Y2E=
        crt: Y2VydA==
        key: bG9uZy1zZWNyZXQ=
    other:
        endpoints: []
        ca: Y2E=
        crt: Y2VydA==
        key: bG9uZy1zZWNyZXQ=
`;
