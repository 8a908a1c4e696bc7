// Prints shakes, and goes on when the broker is started anew.

// The app's id, a name that it owns on the bus; "": an app without a name.
const string APP_ID = "";

[DBus (name = "org.jostle.Broker1")]
interface Broker : Object {
    // Vala makes C of this, where "register" is a keyword: the method needs another name here.
    [DBus (name = "Register")]
    public abstract void enroll (string app_id, HashTable<string, Variant> options, out ObjectPath app,
        out HashTable<string, Variant> results) throws Error;
}

struct Motion {
    uint64 sequence;
    uint64 epoch;
    uint64 time;
    string detector;
    double peak;
    HashTable<string, Variant> further;
}

[DBus (name = "org.jostle.Broker1.App")]
interface App : Object {
    public abstract HashTable<string, Variant> add_detector (string name, HashTable<string, Variant> options) throws Error;
    [DBus (no_reply = true)]
    public abstract void ack (uint64 sequence, uint64 epoch, string answer, HashTable<string, Variant> options) throws Error;
    public signal void event (Motion motion);
}

App app;

void join (DBusConnection bus, string name, string owner) {
    var nothing = new HashTable<string, Variant> (str_hash, str_equal);
    var options = new HashTable<string, Variant> (str_hash, str_equal);
    options["preset"] = "shake.planar";
    options["threshold"] = "2.5g";
    try {
        ObjectPath path;
        HashTable<string, Variant> results;
        Broker broker = bus.get_proxy_sync (owner, "/org/jostle/Broker1");
        broker.enroll (APP_ID, nothing, out path, out results);
        // By the unique name: anybody can send a signal, only the broker's counts.
        app = bus.get_proxy_sync (owner, path);
        app.event.connect (heard);
        app.add_detector ("watch", options);
    } catch (Error error) {
        printerr ("watch: %s\n", error.message);
    }
}

void heard (Motion motion) {
    print ("event %" + uint64.FORMAT + ": %s, peak %.2f\n", motion.sequence, motion.detector, motion.peak);
    try {
        // Only some events want an answer; the others do not mind one.
        app.ack (motion.sequence, motion.epoch, "consume", new HashTable<string, Variant> (str_hash, str_equal));
    } catch (Error error) {
        printerr ("watch: %s\n", error.message);
    }
}

void main () {
    // First, so that the name is ours when the broker is asked.
    if (APP_ID != "") Bus.own_name (BusType.SESSION, APP_ID, BusNameOwnerFlags.DO_NOT_QUEUE);
    Bus.watch_name (BusType.SESSION, "org.jostle.Broker1", BusNameWatcherFlags.AUTO_START, join);
    new MainLoop ().run ();
}
