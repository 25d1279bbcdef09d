/** How a tool is built. */
export interface ToolDefinition {
  name: string;
  /** Folder of its own sources: a Go module, or, with `modules`, a package that is built in that module. */
  folder?: string;
  /** Modules that it is built from. Default: those of the `go.mod` in its folder. */
  modules?: Modules;
  /** Argument of `go build`: an import path of a pinned dependency, or the folder's own program. */
  package: string;
  /**
   * Further programs of the same module. If set, also to an empty list, the tool's path is the folder of all its
   * programs.
   */
  more?: readonly string[];
  /**
   * Need of a C compiler: `static` for a static program; `lazy` for a program that loads NVIDIA's libraries only if
   * they exist. Default: none.
   */
  c?: "static" | "lazy";
  tags?: readonly string[];
  /** Variables that the linker sets (`-X`), as the project's own release builds set its version. */
  stamps: readonly string[];
  /** Changes to one of its modules. Default: none. */
  changes?: Changes;
  /** The project's published builds, which the lab can use instead of a build of its own. Default: none. */
  release?: Release;
}

/**
 * Published builds of a tool. Addresses and folders may contain `${version}` (`v1.2.3`), `${number}` (`1.2.3`),
 * `${os}`, `${arch}` (Go's names), `${node}` (Node's name of the architecture) and `${program}`.
 */
export interface Release {
  /** Platforms with a published build, `OS/ARCHITECTURE` in Go's names. */
  platforms: readonly string[];
  files: readonly ReleaseFiles[];
  /**
   * A script of the lab that runs the published programs and accepts the tool's own arguments. Default: one of the
   * programs is the tool.
   */
  launcher?: string;
}

/** Files of one release. */
export interface ReleaseFiles {
  /** The tool's module whose version is the release's version. */
  of: string;
  /** Version of the release, `v1.2.3`. Default: the module's. */
  version?: string;
  programs: readonly string[];
  address: string;
  /** Address of the project's SHA-256 sums: only the file's sum, or lines with names. */
  sums: string;
  /** Folder of the programs in an archive; `.` is the archive's own. Default: each program is a file of its own. */
  within?: string;
}

/**
 * The Go modules that a tool is built from, in the terms of a `go.mod`. The versions of all others follow from their
 * own `go.mod` files (https://go.dev/ref/mod#minimal-version-selection). Go compares downloads with its checksum
 * database.
 */
export interface Modules {
  /** `PATH VERSION`. */
  require: readonly string[];
  /** `PATH => PATH VERSION`: the replacements of the project's own `go.mod`, which Go ignores in other modules. */
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
  /** Files that its own build generates, each with the file whose content it gets. */
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
