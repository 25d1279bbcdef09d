/** How a tool is built. */
export interface ToolDefinition {
  name: string;
  /** Folder of its own sources: a Go module, or, with `modules`, what is built as a part of that one. */
  folder?: string;
  /** Module that it is built from; absent: the `go.mod` of its folder names it. */
  modules?: Modules;
  /** Argument of `go build`: an import path of a pinned dependency, or the folder's own program. */
  package: string;
  /** Further programs of the same module. With this, also empty, the tool's path is a folder that holds all of them. */
  more?: readonly string[];
  /**
   * What it needs of a C compiler: `static`, or `lazy`, a program that opens NVIDIA's libraries only where they are.
   * Default none.
   */
  c?: "static" | "lazy";
  tags?: readonly string[];
  /** Variables the linker sets (`-X`): how each project stamps its version in its own release builds. */
  stamps: readonly string[];
  /** Changes to a module that it is built from. Default: none. */
  changes?: Changes;
  /** Where its project publishes it, so that it need not be built. Default: nowhere. */
  release?: Release;
}

/**
 * What a tool's projects publish of it. In addresses and folders stand `${version}` (`v1.2.3`), `${number}`
 * (`1.2.3`), `${os}`, `${arch}` (as Go names them), `${node}` (the architecture as Node names it) and `${program}`.
 */
export interface Release {
  /** Platforms that it is published for, `OS/ARCHITECTURE` as Go names them. */
  platforms: readonly string[];
  files: readonly ReleaseFiles[];
  /**
   * A script of the lab's own, which calls the programs and is called as the tool is. Default: one of them is the
   * tool.
   */
  launcher?: string;
}

/** Files of one release. */
export interface ReleaseFiles {
  /** The module of the tool's that has the release's version. */
  of: string;
  programs: readonly string[];
  address: string;
  /** The project's file of SHA-256 sums, which has the file's sum, alone or with its name. */
  sums: string;
  /** Folder of the programs in an archive. Default: each program is a file of its own. */
  within?: string;
}

/**
 * The Go modules that a tool is built from, as a `go.mod` says them. The versions of all others follow from their own
 * `go.mod` files (https://go.dev/ref/mod#minimal-version-selection), and Go compares what it downloads with its
 * checksum database.
 */
export interface Modules {
  /** `PATH VERSION`. */
  require: readonly string[];
  /** `PATH => PATH VERSION`: what the project's own `go.mod` replaces, which holds in that module alone. */
  replace?: readonly string[];
  /** Lines of `go.sum` of modules that the checksum database may not know. */
  sums?: readonly string[];
}

/** Changes to one of a tool's modules before it is built. */
export interface Changes {
  /** One of its modules: `PATH VERSION`. */
  module: string;
  edits: readonly {
    /** Purpose of the change, and its source. */
    why: string;
    file: string;
    /** Text that occurs exactly once. */
    from: string;
    to: string;
  }[];
  without: readonly string[];
  /** Files that its own build makes of others first, which are taken as they are. */
  made: Readonly<Record<string, string>>;
  /** Files that are replaced as a whole, by their new content. Default: none. */
  written?: Readonly<Record<string, string>>;
  /** Files that are put next to the programs. */
  beside?: readonly string[];
}

/** The Go toolchain that builds a tool. */
export interface Toolchain {
  /** E.g. `go1.26.8`. */
  version: string;
  /** Platform that it builds for: this machine. */
  os: string;
  arch: string;
}
