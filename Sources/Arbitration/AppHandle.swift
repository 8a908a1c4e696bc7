/// The number of an app, dense, so that it can index a table. Whoever takes apps in numbers them, and gives numbers that became
/// free out again.
package struct AppHandle: Hashable, Comparable, Sendable {
    package let index: UInt32

    package init(_ index: UInt32) { self.index = index }

    package static func < (a: AppHandle, b: AppHandle) -> Bool { a.index < b.index }
}
