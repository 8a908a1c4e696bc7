// Runs the extension of GNOME Shell in a shell that is made up, which tells it of windows: gjs extension.js FILE
/* global ARGV, imports */

const { GLib } = imports.gi;

const check = (isTrue, what) => {
    if (!isTrue) throw new Error(what);
};

// Something that tells of changes.
class Source {
    constructor(fields) {
        Object.assign(this, fields);
        this.handlers = new Map();
    }

    connect(signal, handler) {
        this.handlers.set(this.handlers.size + 1, [signal, handler]);
        return this.handlers.size;
    }

    disconnect() { }

    emit(signal) {
        for (const [name, handler] of this.handlers.values()) {
            if (name === signal) handler(this);
        }
    }
}

const window = (id, appID) => new Source({
    window_type: 0, minimized: false, get_id: () => id, get_pid: () => 0, get_client_type: () => 0,
    get_sandboxed_app_id: () => null, get_gtk_application_id: appID, get_wm_class: () => "class", get_wm_class_instance: () => null,
    located_on_workspace: () => true,
});

// What was told since it was asked last.
let told = [];
const take = () => {
    const all = told.join(" ");
    told = [];
    return all;
};
let appeared = null;
const Gio = {
    BusType: {}, BusNameWatcherFlags: {}, DBusSignalFlags: {}, DBusCallFlags: {},
    DBus: {
        session: {
            signal_subscribe: () => 1, signal_unsubscribe: () => { },
            call: (_owner, _path, _interface, method, values) => {
                const [id, appID, , , , state] = values.recursiveUnpack();
                told.push(method === "Window" ? `${id}:${appID}:${state}` : method);
            },
        },
    },
    bus_watch_name: (_type, _name, _flags, handler) => {
        appeared = handler;
        return 1;
    },
    bus_unwatch_name: () => { },
};
const Meta = { WindowType: { NORMAL: 0, DIALOG: 1, MODAL_DIALOG: 2, UTILITY: 3 }, WindowClientType: { WAYLAND: 0 } };
const Shell = { WindowTracker: { get_default: () => ({ get_window_app: () => null }) } };
const overview = new Source({ visibleTarget: false });

// Its client says a byte that begins no character.
const broken = window(1, () => GLib.strcompress("\\377"));
const good = window(2, () => "org.example.Good");
const display = new Source({ focus_window: broken });
const shell = {
    display, workspace_manager: new Source({ get_active_workspace: () => null }),
    get_window_actors: () => [broken, good].map(window => ({ meta_window: window })),
};

const text = new TextDecoder().decode(GLib.file_get_contents(ARGV[0])[1]);
const Windows = new Function("imports", "global", `${text}\nreturn Windows;`)(
    { gi: { Gio, GLib, Meta, Shell }, ui: { main: { overview } } }, shell);
const windows = new Windows();
appeared(null, null, ":1.1");
check(take() === "1:class:front 2:org.example.Good:visible Said", "not all windows are told");
display.focus_window = good;
display.emit("notify::focus-window");
check(take() === "1:class:visible 2:org.example.Good:front", "the window in front is not told");
windows.destroy();
check(take() === "Left", "it does not say that it leaves");
print("windows: ok");
