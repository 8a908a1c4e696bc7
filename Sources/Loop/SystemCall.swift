import CLinux
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

/// Makes sure that a descriptor that is not of our making is open for what `function` is about to do: `mode` is `O_RDONLY` or
/// `O_WRONLY`.
///
/// Whoever starts us gives the standard descriptors as they like, and with one of ours that would be a mistake. The
/// corresponding C function is `fcntl` with `F_GETFL`.
package func checkMode(_ mode: Int32, of descriptor: Int32, for function: String) throws(SystemError) {
    let flags = fcntl(descriptor, F_GETFL)
    guard flags >= 0, CLinux_names_only(descriptor) == 0, [mode, O_RDWR].contains(flags & O_ACCMODE)
    else { throw SystemError(code: EBADF, function: function) }
}
