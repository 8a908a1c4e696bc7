// Tells jostle-focus what windows there are, and which of them is in front. KWin 5 and 6 name the same things otherwise.

const service = "org.jostle.Focus1";
const path = "/org/jostle/Focus1";
const face = "org.jostle.Focus1.Shell";

const isSix = workspace.windowList !== undefined;
const added = isSix ? workspace.windowAdded : workspace.clientAdded;
const removed = isSix ? workspace.windowRemoved : workspace.clientRemoved;
const activated = isSix ? workspace.windowActivated : workspace.clientActivated;

function all() { return isSix ? workspace.windowList() : workspace.clientList(); }

function active() { return isSix ? workspace.activeWindow : workspace.activeClient; }

// Panels, notifications and the desktop itself are no app that somebody works with.
function counts(window) { return window.normalWindow || window.dialog || window.utility; }

function isHere(window) {
    if (window.minimized) { return false; }
    if (window.onAllDesktops) { return true; }
    return isSix ? window.desktops.indexOf(workspace.currentDesktop) >= 0 : window.desktop === workspace.currentDesktop;
}

function text(value) { return value ? String(value) : ""; }

function tell(window) {
    const state = window === active() ? "front" : isHere(window) ? "visible" : "hidden";
    callDBus(
        service, path, face, "Window", text(window.internalId), text(window.desktopFileName), text(window.resourceClass),
        text(window.resourceName), text(window.pid), state, {});
}

let front = null;

function follow(window) {
    if (!counts(window)) { return; }
    const again = function () { tell(window); };
    [window.minimizedChanged, window.desktopFileNameChanged, window.windowClassChanged, window.desktopsChanged,
        window.desktopChanged].forEach(function (signal) { if (signal) { signal.connect(again); } });
    tell(window);
}

added.connect(follow);
removed.connect(function (window) {
    if (front === window) { front = null; }
    callDBus(service, path, face, "Closed", text(window.internalId), {});
});
activated.connect(function (window) {
    const left = front;
    front = window && counts(window) ? window : null;
    if (left && left !== front) { tell(left); }
    if (front) { tell(front); }
});
workspace.currentDesktopChanged.connect(function () {
    all().filter(counts).forEach(tell);
});

front = active() && counts(active()) ? active() : null;
all().forEach(follow);
callDBus(service, path, face, "Said", {});
