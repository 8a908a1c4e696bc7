import CDBus
import Loop

/// What the bus knows of the process that made a connection: the kernel told it at that moment.
package struct ConnectionCredentials {
    package private(set) var user: UInt32?
    /// The process's number; once it has ended, that may be another one's.
    package private(set) var process: Int32?
    /// The process itself, as a pidfd. Older buses do not have it.
    package private(set) var handle: WireDescriptor?

    /// Reads what `GetConnectionCredentials` answers.
    package init(_ reply: borrowing Message) throws(WireError) {
        let found = reply.signature
        guard found == "a{sv}" else { throw .signature(expected: "a{sv}", found: found) }
        var (user, process, handle): (UInt32?, Int32?, WireDescriptor?) = (nil, nil, nil)
        _ = try reply.withReader { (reader: inout WireReader) throws(WireError) in
            try reader.container { (array: inout WireReader) throws(WireError) in
                while array.type != CDBUS_TYPE_INVALID {
                    try array.container { (entry: inout WireReader) throws(WireError) in
                        let key = try String.read(from: &entry)
                        try entry.container { (value: inout WireReader) throws(WireError) in
                            switch (key, value.type) {
                            case ("UnixUserID", CDBUS_TYPE_UINT32): user = try UInt32.read(from: &value)
                            case ("ProcessID", CDBUS_TYPE_UINT32):
                                process = Int32(exactly: try UInt32.read(from: &value))
                            case ("ProcessFD", CDBUS_TYPE_UNIX_FD): handle = try WireDescriptor.read(from: &value)
                            default: try value.skip()
                            }
                        }
                    }
                }
            }
        }
        (self.user, self.process, self.handle) = (user, process, handle)
    }

    /// The same of a reply that has just come: one that is not as it should be is the bus's failure.
    fileprivate init(reply: borrowing Message) throws(BusError) {
        do throws(WireError) {
            try self.init(reply)
        } catch {
            throw .failed("the reply is wrong: \(error)")
        }
    }
}

extension Connection {
    /// Asks the bus who made a connection.
    package func credentials(
        of uniqueName: String, then: @escaping (Result<ConnectionCredentials, BusError>) -> Void
    ) {
        self.callBus("GetConnectionCredentials", uniqueName) { result in
            let credentials: ConnectionCredentials
            do throws(BusError) {
                credentials = try ConnectionCredentials(reply: result.take())
            } catch {
                return then(.failure(.untoldCaller(error)))
            }
            then(.success(credentials))
        }
    }
}
