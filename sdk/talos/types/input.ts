/* eslint-disable @typescript-eslint/no-namespace -- the published package has its types in namespaces */
import type * as pulumi from "@pulumi/pulumi";
import type * as inputs from "./input";

// Types of the provider's inputs.

export namespace cluster {
  /** Client certificate of the machine API, with its authority. */
  export interface KubeconfigClientConfiguration {
    /** Certificate of the authority, base64. */
    caCertificate: pulumi.Input<string>;
    /** Certificate of the client, base64. */
    clientCertificate: pulumi.Input<string>;
    /** Key of the client, base64. Secret. */
    clientKey: pulumi.Input<string>;
  }

  /** How long steps may take. */
  export interface KubeconfigTimeouts {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: pulumi.Input<string | undefined>;
    /** How long to update may take, a Go duration. Default: `10m`. */
    update?: pulumi.Input<string | undefined>;
  }
}

export namespace machine {
  /** How long steps may take. */
  export interface BootstrapTimeouts {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: pulumi.Input<string | undefined>;
  }

  /** A certificate and its key. */
  export interface CertificateArgs {
    /** Certificate, base64. */
    cert: pulumi.Input<string>;
    /** Private key, base64. Secret. */
    key: pulumi.Input<string>;
  }

  /** Authorities of a cluster. */
  export interface CertificatesArgs {
    /** Authority of etcd. */
    etcd: pulumi.Input<inputs.machine.CertificateArgs>;
    /** Authority of Kubernetes. */
    k8s: pulumi.Input<inputs.machine.CertificateArgs>;
    /** Authority of Kubernetes' aggregation layer. */
    k8sAggregator: pulumi.Input<inputs.machine.CertificateArgs>;
    /** Key that signs service account tokens. */
    k8sServiceaccount: pulumi.Input<inputs.machine.KeyArgs>;
    /** Authority of the machine API. */
    os: pulumi.Input<inputs.machine.CertificateArgs>;
  }

  /** Client certificate of the machine API, with its authority. */
  export interface ClientConfiguration {
    /** Certificate of the authority, base64. */
    caCertificate: pulumi.Input<string>;
    /** Certificate of the client, base64. */
    clientCertificate: pulumi.Input<string>;
    /** Key of the client, base64. Secret. */
    clientKey: pulumi.Input<string>;
  }

  /** Identity of a cluster. */
  export interface ClusterArgs {
    /** Identifier of the cluster, base64. */
    id: pulumi.Input<string>;
    /** Secret with which members find each other, base64. Secret. */
    secret: pulumi.Input<string>;
  }

  /** Changes to the machine when the resource is destroyed. */
  export interface ConfigurationApplyOnDestroy {
    /** Whether to leave etcd and drain the node first. Default: true. */
    graceful?: pulumi.Input<boolean | undefined>;
    /** Whether to reboot afterwards instead of halting. Default: false. */
    reboot?: pulumi.Input<boolean | undefined>;
    /** Whether to wipe the machine. Default: false; the other two fields then have no effect. */
    reset?: pulumi.Input<boolean | undefined>;
  }

  /** A private key. */
  export interface KeyArgs {
    /** Private key, base64. Secret. */
    key: pulumi.Input<string>;
  }

  /** Secrets of the Kubernetes cluster. */
  export interface KubernetesSecretsArgs {
    /** Key that encrypts Secrets at rest (older clusters). Secret. */
    aescbcEncryptionSecret?: pulumi.Input<string | undefined>;
    /** Token with which kubelets join. Secret. */
    bootstrapToken: pulumi.Input<string>;
    /** Key that encrypts Secrets at rest. Secret. */
    secretboxEncryptionSecret: pulumi.Input<string>;
  }

  /** Secrets for generating the machine configurations of the cluster. */
  export interface MachineSecretsArgs {
    /** Authorities. */
    certs: pulumi.Input<inputs.machine.CertificatesArgs>;
    /** Identity of the cluster. */
    cluster: pulumi.Input<inputs.machine.ClusterArgs>;
    /** Secrets of Kubernetes. */
    secrets: pulumi.Input<inputs.machine.KubernetesSecretsArgs>;
    /** Secret of the machines' certificate service. */
    trustdinfo: pulumi.Input<inputs.machine.TrustdInfoArgs>;
  }

  /** How long steps may take. */
  export interface Timeout {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: pulumi.Input<string | undefined>;
    /** How long to delete may take, a Go duration. Default: `10m`. */
    delete?: pulumi.Input<string | undefined>;
    /** How long to update may take, a Go duration. Default: `10m`. */
    update?: pulumi.Input<string | undefined>;
  }

  /** Secret of the machines' certificate service. */
  export interface TrustdInfoArgs {
    /** Token with which machines join. Secret. */
    token: pulumi.Input<string>;
  }
}
