// Prints shakes, and goes on when the broker is started anew: gjs -m watch.js
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

const detector = "('watch', {'preset': <'shake.planar'>, 'threshold': <'2.5g'>})";

Gio.bus_watch_name(Gio.BusType.SESSION, 'org.jostle.Broker1', Gio.BusNameWatcherFlags.AUTO_START, (bus, name, broker) => {
    const call = (...words) => bus.call_sync(broker, ...words, null, 0, -1, null).deepUnpack();
    const [app] = call('/org/jostle/Broker1', name, 'Register', new GLib.Variant('(sa{sv})', ['', {}]));
    // By the unique name: anybody can send a signal, only the broker's counts.
    bus.signal_subscribe(broker, `${name}.App`, 'Event', app, null, 0, (...[, , , , , body]) => {
        const [[sequence, epoch, , detector, peak]] = body.deepUnpack();
        print(`event ${sequence}: ${detector}, peak ${peak.toFixed(2)}`);
        // Only some events want an answer; the others do not mind one.
        const answer = new GLib.Variant('(ttsa{sv})', [sequence, epoch, 'consume', {}]);
        bus.call(broker, app, `${name}.App`, 'Ack', answer, null, 0, -1, null, null);
    });
    call(app, `${name}.App`, 'AddDetector', GLib.Variant.parse(null, detector, null, null));
}, null);
new GLib.MainLoop(null, false).run();
