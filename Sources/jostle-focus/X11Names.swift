/// The numbers that an X server gives to the names we use.
struct X11Names {
    let clientList: UInt32
    let activeWindow: UInt32
    let currentDesktop: UInt32
    let hidden: UInt32
    let dock: UInt32
    let background: UInt32
    /// The server says of a window whose it is.
    let tellsClients: Bool
    private let properties: [X11Window.Property: UInt32]
    private let byAtom: [UInt32: X11Window.Property]

    private static let windowClass: UInt32 = 67
    private static let clientMachine: UInt32 = 36
    private static let texts = [
        "_NET_CLIENT_LIST", "_NET_ACTIVE_WINDOW", "_NET_CURRENT_DESKTOP", "_NET_WM_STATE_HIDDEN",
        "_NET_WM_WINDOW_TYPE_DOCK", "_NET_WM_WINDOW_TYPE_DESKTOP", "_GTK_APPLICATION_ID", "_NET_WM_PID", "WM_STATE",
        "_NET_WM_STATE", "_NET_WM_DESKTOP", "_NET_WM_WINDOW_TYPE",
    ]

    private init(_ atoms: [UInt32], tellsClients: Bool) {
        (self.clientList, self.activeWindow, self.currentDesktop) = (atoms[0], atoms[1], atoms[2])
        (self.hidden, self.dock, self.background) = (atoms[3], atoms[4], atoms[5])
        self.tellsClients = tellsClients
        // The first two are the same on every server.
        self.properties = [
            .windowClass: Self.windowClass, .machine: Self.clientMachine, .gtkAppID: atoms[6], .process: atoms[7],
            .managed: atoms[8], .states: atoms[9], .desktop: atoms[10], .type: atoms[11],
        ]
        self.byAtom = Dictionary(self.properties.map { ($0.value, $0.key) }) { first, _ in first }
    }

    /// Asks for all of them, and for what the server can do besides.
    static func ask(on line: X11Line, _ then: @escaping (X11Names) -> Void) {
        var atoms: [UInt32] = []
        for text in self.texts {
            line.atom(text) { answer in
                atoms.append(answer.number)
                guard atoms.count == self.texts.count else { return }
                // The extension was asked for before.
                line.clientVersion { tellsClients in then(X11Names(atoms, tellsClients: tellsClients)) }
            }
        }
    }

    func atom(of property: X11Window.Property) -> UInt32 { self.properties[property] ?? 0 }
    func property(of atom: UInt32) -> X11Window.Property? { self.byAtom[atom] }
}
