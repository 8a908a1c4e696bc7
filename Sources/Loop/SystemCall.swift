import Glibc

/// Makes a system call and throws what it failed with.
///
/// Interrupted calls are made again. EBADF and EFAULT can only come from a mistake of ours, after which no descriptor
/// is to be trusted: they end the process.
@discardableResult
package func systemCall<Result: FixedWidthInteger>(
    _ function: String, _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        guard result < 0 else { return result }
        let code = errno
        if code == EINTR { continue }
        let error = SystemError(code: code, function: function)
        invariant(code != EBADF && code != EFAULT, error.description)
        throw error
    }
}
