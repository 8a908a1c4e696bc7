import FuzzTargets
import Glibc

/// What is fed with bytes that nobody chose. `FUZZ_TARGET` says which; it is chosen once, at the first input.
private let chosen: FuzzTarget = {
    // SAFETY: the environment does not change.
    let name = unsafe getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        fatalError("FUZZ_TARGET must be one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return target
}()

/// The fuzzer's entry: whatever the bytes are, this returns, unless we are wrong.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    // SAFETY: the fuzzer lends `size` bytes for the time of the call.
    let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: size))
    if let problem = chosen.run(bytes) { fatalError(problem) }
    return 0
}
