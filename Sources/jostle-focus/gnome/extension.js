// Tells jostle-focus what windows there are, and which of them is in front.
/* exported init */

const { Gio, GLib, Meta, Shell } = imports.gi;
const Main = imports.ui.main;

const SERVICE = "org.jostle.Focus1";
const PATH = "/org/jostle/Focus1";
const INTERFACE = "org.jostle.Focus1.Shell";

// Panels, menus and notifications are no app that somebody works with.
const KINDS = [Meta.WindowType.NORMAL, Meta.WindowType.DIALOG, Meta.WindowType.MODAL_DIALOG, Meta.WindowType.UTILITY];

class Windows {
    constructor() {
        this._followed = new Map();
        this._front = null;
        this._owner = null;
        this._isCovered = Main.overview.visibleTarget;
        this._signals = [];
        const connect = (object, signal, handler) => this._signals.push([object, object.connect(signal, handler)]);
        connect(global.display, "window-created", (_display, window) => this._follow(window));
        connect(global.display, "notify::focus-window", () => this._focus());
        connect(global.workspace_manager, "active-workspace-changed", () => this._tellEach());
        // Over all windows lies the overview, and the focus may stay with one beneath it.
        connect(Main.overview, "showing", () => this._cover(true));
        connect(Main.overview, "hiding", () => this._cover(false));
        for (const actor of global.get_window_actors()) this._follow(actor.meta_window);
        this._front = this._followed.has(global.display.focus_window) ? global.display.focus_window : null;
        // Whoever comes later, or does not know us yet, asks for everything.
        this._wanted = Gio.DBus.session.signal_subscribe(
            SERVICE, INTERFACE, "Wanted", PATH, null, Gio.DBusSignalFlags.NONE, () => this._tellAll());
        this._watch = Gio.bus_watch_name(
            Gio.BusType.SESSION, SERVICE, Gio.BusNameWatcherFlags.NONE,
            (_connection, _name, owner) => {
                this._owner = owner;
                this._tellAll();
            },
            () => { this._owner = null; });
    }

    destroy() {
        Gio.DBus.session.signal_unsubscribe(this._wanted);
        this._call("Left", new GLib.Variant("(a{sv})", [{}]));
        Gio.bus_unwatch_name(this._watch);
        for (const [object, id] of this._signals) object.disconnect(id);
        for (const [window, ids] of this._followed) ids.forEach(id => window.disconnect(id));
        this._followed.clear();
        this._signals = [];
    }

    // An answer is not waited for: whoever is not there is told when it comes.
    _call(method, values) {
        if (!this._owner) return;
        Gio.DBus.session.call(
            this._owner, PATH, INTERFACE, method, values, null, Gio.DBusCallFlags.NO_AUTO_START, -1, null,
            (connection, result) => { try { connection.call_finish(result); } catch (_) { } });
    }

    _follow(window) {
        if (this._followed.has(window) || !KINDS.includes(window.window_type)) return;
        const tell = () => this._tell(window);
        const ids = ["notify::minimized", "notify::wm-class", "notify::gtk-application-id", "workspace-changed"]
            .map(signal => window.connect(signal, tell));
        ids.push(window.connect("unmanaged", () => {
            ids.forEach(id => window.disconnect(id));
            this._followed.delete(window);
            if (this._front === window) this._front = null;
            this._call("Closed", new GLib.Variant("(sa{sv})", [this._id(window), {}]));
        }));
        this._followed.set(window, ids);
        tell();
    }

    _focus() {
        const left = this._front;
        const focus = global.display.focus_window;
        this._front = focus && this._followed.has(focus) ? focus : null;
        if (left && left !== this._front) this._tell(left);
        if (this._front) this._tell(this._front);
    }

    _cover(isCovered) {
        this._isCovered = isCovered;
        this._tellEach();
    }

    _tellAll() {
        this._tellEach();
        this._call("Said", new GLib.Variant("(a{sv})", [{}]));
    }

    _tellEach() {
        for (const window of this._followed.keys()) this._tell(window);
    }

    _id(window) { return `${window.get_id()}`; }

    // What the shell itself takes the window for, if that is an installed app and not made up for the window.
    _desktopFile(window) {
        const app = Shell.WindowTracker.get_default().get_window_app(window);
        if (!app || app.is_window_backed()) return "";
        return app.get_id().replace(/\.desktop$/, "");
    }

    // A client may say bytes that are no text, which to read is an error. It has said nothing then: an error would keep the windows that come
    // behind it from being told, and the window in front from being known to be so.
    _text(read) {
        try {
            return read() ?? "";
        } catch (_) {
            return "";
        }
    }

    // What the window says that it is. On Wayland its class is nothing else.
    _appID(window) {
        const isWayland = window.get_client_type() === Meta.WindowClientType.WAYLAND;
        return this._text(() => this._desktopFile(window)) || this._text(() => window.get_sandboxed_app_id())
            || this._text(() => window.get_gtk_application_id()) || (isWayland ? this._text(() => window.get_wm_class()) : "");
    }

    _state(window) {
        if (window === global.display.focus_window && !this._isCovered) return "front";
        const isHere = window.located_on_workspace(global.workspace_manager.get_active_workspace());
        return window.minimized || !isHere ? "hidden" : "visible";
    }

    _tell(window) {
        const pid = window.get_pid();
        this._call("Window", new GLib.Variant("(ssssssa{sv})", [
            this._id(window), this._appID(window), this._text(() => window.get_wm_class()),
            this._text(() => window.get_wm_class_instance()), pid > 0 ? `${pid}` : "", this._state(window), {},
        ]));
    }
}

class Extension {
    enable() { this._windows = new Windows(); }

    disable() {
        this._windows.destroy();
        this._windows = null;
    }
}

function init() { return new Extension(); }
