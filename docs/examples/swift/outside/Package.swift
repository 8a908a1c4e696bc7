// swift-tools-version: 6.2
import PackageDescription

// A program of one's own, in a directory beside the source of Jostle, which is called jostle.
let package = Package(
    name: "undo",
    dependencies: [.package(path: "../jostle")],
    targets: [.executableTarget(name: "undo", dependencies: [.product(name: "JostleClient", package: "jostle")])]
)
