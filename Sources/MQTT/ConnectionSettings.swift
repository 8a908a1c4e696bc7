/// How to reach a server, and as whom.
package struct ConnectionSettings: Equatable, Sendable {
    package struct TLS: Equatable, Sendable {
        /// A file with certificates of authorities; `nil`: those of the system.
        package var authorities: String?
        /// Our own certificate and its key.
        package var certificate: String?
        package var key: String?
        /// Somebody at the terminal may be asked for the passphrase of the key, and is waited for. Else such a key cannot be used.
        package var mayAsk = false

        package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
        }
    }

    /// The name that the server's certificate has to have.
    package var host: String
    package var port: UInt16
    /// What the server knows our session by.
    package var client: String
    package var user: String?
    package var password: String?
    package var tls: TLS?
    /// After how many seconds without a word we ask whether the server is there.
    package var keepAlive: UInt16 = 60
    /// For how many seconds the server keeps our session when we are gone; 0: not at all.
    package var sessionExpiry: UInt32 = 0
    /// So many messages may be on their way to us at a time.
    package var receiveMaximum: UInt16 = 16
    /// The largest packet that we take, in bytes: the server is told so, and left when it sends a larger one. `nil`: any.
    package var largestPacket: UInt32?
    /// How much memory the program may hold once something was read, in bytes: the server that has it hold more is left. `nil`: any.
    ///
    /// What the library keeps of packets that are not whole, of answers that the server does not read and of messages that it
    /// never completes, nobody else can bound.
    package var mostMemory: Int?
    /// What the server says for us when we are gone without a word.
    package var will: Publication?

    package init(host: String, port: UInt16, client: String) {
        self.host = host
        self.port = port
        self.client = client
    }
}

/// What the server says when it takes us.
package struct Welcome: Equatable, Sendable {
    /// It remembers our session.
    package var hasSession: Bool
    /// So many of our messages may be without an acknowledgement.
    package var receiveMaximum: UInt16
    /// The largest packet that it takes.
    package var largestPacket: UInt32?
}
