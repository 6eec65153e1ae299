// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import PackageDescription

// SEGUE_EMBEDDED=1 builds what ships (docs/decisions/two-build-modes.md); without it the same sources build as
// ordinary Swift, for tests and sanitizers. Linker flags of the shared library are in the Makefile.
let embedded = Context.environment["SEGUE_EMBEDDED"] == "1"
let settings: [SwiftSetting] =
  embedded
  ? [
    .enableExperimentalFeature("Embedded"),
    // Each module is compiled into the one that exports it, once, and only as far as it is used.
    .enableExperimentalFeature("DeferredCodeGen"),
    // Exclusivity is checked in the ordinary build: in this mode the check is an empty function, called 2,000 times.
    // A function that takes a closure is not copied for each closure: that would be a tenth of the library. What is
    // called often enough to be worth it is inlined by its own word.
    .unsafeFlags([
      "-wmo", "-Xfrontend", "-function-sections", "-enforce-exclusivity=unchecked",
      "-Xllvm", "-sil-disable-pass=closure-specialize",
      // Lays machine code out for size, but not at any price: copies by `rep movs` would halve the speed of the codec.
      "-Xllvm", "-force-attribute=optsize", "-Xllvm", "-force-remove-attribute=minsize",
      // LLVM inlines only what is no larger than its call: Swift's optimiser has already inlined what is worth it.
      "-Xllvm", "-inline-threshold=5",
    ]),
  ] : []

// Modules that Swift's own optimiser lays out for speed: values. Elsewhere hot functions say so.
let fast: Set = ["SegueModel"]

/// A module of the library; it imports only the modules named here (docs/architecture.md).
func module(
  _ name: String, imports: [Target.Dependency] = [], links: [String] = [], exclude: [String] = []
) -> Target {
  .target(
    name: name, dependencies: imports, exclude: exclude,
    swiftSettings: settings + (embedded && !fast.contains(name) ? [.unsafeFlags(["-Osize"])] : []),
    linkerSettings: links.map { .linkedLibrary($0) })
}

let package = Package(
  name: "Segue",
  products: [
    .library(name: "segue", type: .dynamic, targets: ["SegueABI"]),
    // The same and the virtual fleet, for tests (docs/decisions/a-library-for-tests.md).
    .library(name: "segue-fleet", type: .dynamic, targets: ["SegueFleetABI"]),
  ],
  targets: [
    .target(name: "CSegue", path: "include", publicHeadersPath: "."),
    // The version of debug information that Swift writes, and that valgrind reads.
    .target(name: "CLoaded", cSettings: [.unsafeFlags(["-gdwarf-4"])]),
    .systemLibrary(name: "CExpat"),
    .systemLibrary(name: "CLibUV"),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL"),
    .systemLibrary(name: "CSQLite"),
    .systemLibrary(name: "CSystemd"),
    module("SegueModel"),
    module("SegueWire", imports: ["SegueModel"]),
    module("SegueEngine", imports: ["SegueModel", "SegueWire"]),
    module("SegueSystem", imports: ["SegueModel", "CLinux"]),
    module("SegueApp", imports: ["SegueModel", "SegueWire", "SegueEngine", "SegueSystem", "CLinux"]),
    module("SegueTransport", imports: ["SegueModel", "SegueSystem", "CLibUV", "CLinux"], links: ["uv"]),
    // expat is loaded by its users, not linked.
    module("SegueManifests", imports: ["SegueModel", "SegueSystem", "CExpat", "CLinux"]),
    // The agent and what it needs, never linked into the library. OpenSSL is loaded by its users, not linked.
    module("SegueCrypto", imports: ["SegueModel", "SegueSystem", "COpenSSL"]),
    module("SegueAgentCore", imports: ["SegueModel", "SegueSystem", "SegueWire", "SegueEngine", "SegueCrypto"]),
    module(
      "SegueStore", imports: ["SegueModel", "SegueEngine", "SegueSystem", "SegueAgentCore", "CLinux", "CSQLite"],
      links: ["sqlite3"]),
    module("SegueOpenSSL", imports: ["SegueModel", "SegueSystem", "SegueCrypto", "SegueAgentCore", "COpenSSL"]),
    // The virtual fleet, with agents whose stores are those that ship.
    module(
      "SegueFleet",
      imports: [
        "SegueModel", "SegueWire", "SegueEngine", "SegueApp", "SegueSystem", "SegueAgentCore", "SegueStore", "CLinux",
      ]),
    module(
      "SegueRuntime",
      imports: [
        "SegueModel", "SegueWire", "SegueEngine", "SegueSystem", "SegueApp", "SegueTransport", "SegueManifests",
        "CLinux",
      ]),
    module(
      "SegueABI",
      imports: [
        "CSegue", "CLinux", "CLoaded", "SegueModel", "SegueWire", "SegueEngine", "SegueSystem", "SegueApp",
        "SegueTransport", "SegueRuntime", "SegueManifests",
      ],
      exclude: ["discard.ld", "exports.map"]),
    module(
      "SegueFleetABI",
      imports: [
        "CSegue", "CLinux", "CLoaded", "SegueModel", "SegueWire", "SegueEngine", "SegueSystem", "SegueApp",
        "SegueTransport", "SegueRuntime", "SegueManifests", "SegueAgentCore", "SegueFleet", "SegueABI",
      ]),
    // For tests and benchmarks of the store, in both modes.
    .executableTarget(
      name: "StoreProbe", dependencies: ["SegueStore", "SegueAgentCore", "SegueModel", "CLinux", "CSQLite"],
      path: "Tests/StoreProbe",
      swiftSettings: settings, linkerSettings: [.linkedLibrary("m")]),
    // For tests and benchmarks of manifests, in both modes.
    .executableTarget(
      name: "ManifestProbe", dependencies: ["SegueManifests", "SegueModel", "CLinux"],
      path: "Tests/ManifestProbe", swiftSettings: settings, linkerSettings: [.linkedLibrary("m")]),
    // libsystemd is loaded by the launcher's children, not linked.
    module(
      "SegueAgent",
      imports: [
        "CSegue", "CLinux", "CSystemd", "SegueModel", "SegueWire", "SegueEngine", "SegueSystem", "SegueTransport",
        "SegueApp", "SegueRuntime", "SegueManifests", "SegueStore", "SegueAgentCore", "SegueOpenSSL", "SegueCrypto",
      ]),
    .executableTarget(name: "segue-agent", dependencies: ["CLinux", "SegueAgent"], swiftSettings: settings),
  ]
    + (embedded
      ? []
      : [
        .testTarget(name: "ModelTests", dependencies: ["SegueModel"], exclude: ["Vectors"]),
        .testTarget(name: "WireTests", dependencies: ["SegueWire"]),
        .testTarget(name: "HandleTests", dependencies: ["SegueABI", "SegueFleetABI"]),
        .systemLibrary(name: "CFFI", path: "Tests/CFFI", pkgConfig: "libffi"),
        .testTarget(name: "ABITests", dependencies: ["CFFI"]),
        .testTarget(name: "EngineTests", dependencies: ["SegueApp", "SegueEngine", "SegueFleet"]),
        .testTarget(name: "DriverTests", dependencies: ["SegueEngine"]),
        .testTarget(name: "ManifestTests", dependencies: ["SegueManifests", "SegueModel"]),
        .testTarget(name: "RoutingTests", dependencies: ["SegueModel"]),
        .testTarget(
          name: "TrustTests",
          dependencies: [
            "SegueAgentCore", "SegueOpenSSL", "SegueStore", "SegueEngine", "SegueFleet", "SegueSystem", "SegueWire",
          ],
          exclude: ["Stored"]),
        .testTarget(
          name: "FleetTests",
          dependencies: [
            "SegueApp", "SegueAgentCore", "SegueEngine", "SegueFleet", "SegueModel", "SegueStore", "SegueTransport",
            "SegueWire",
          ]),
        .testTarget(
          name: "StoreTests",
          dependencies: ["SegueStore", "SegueAgentCore", "SegueEngine", "StoreProbe", "CLinux", "CSQLite"],
          exclude: ["disk.c"]),
        .testTarget(name: "BuildModeTests", dependencies: ["SegueFleet"]),
        .testTarget(
          name: "AgentTests",
          dependencies: [
            "SegueAgent", "SegueAgentCore", "SegueEngine", "SegueModel", "SegueStore", "SegueOpenSSL", "SegueTransport",
            "CLinux",
          ]),
        .target(
          name: "CertificateMaker", path: "Tests/CertificateMaker",
          linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .executableTarget(
          name: "DeviceProbe",
          dependencies: [
            "SegueAgent", "SegueOpenSSL", "SegueAgentCore", "SegueModel", "SegueSystem", "SegueTransport",
            "CertificateMaker", "CLinux",
          ],
          path: "Tests/devices/DeviceProbe"),
        .testTarget(
          name: "DeviceTests",
          dependencies: [
            "SegueAgentCore", "SegueOpenSSL", "SegueCrypto", "SegueModel", "SegueSystem", "CertificateMaker",
          ]),
        // The targets of the fuzzers, with the inputs that are committed.
        .executableTarget(
          name: "FuzzReplay",
          dependencies: [
            "SegueFleet", "SegueManifests", "SegueOpenSSL", "SegueAgentCore", "SegueModel", "SegueSystem",
          ],
          path: "Tests/fuzz", exclude: ["run", "corpus", "regressions"]),
        .executableTarget(
          name: "LauncherProbe", dependencies: ["SegueAgent", "SegueEngine", "SegueModel", "SegueTransport", "CLinux"],
          path: "Tests/agent/LauncherProbe"),
      ])
)
