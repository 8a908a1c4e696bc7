// The same as proxies.py, in GJS: gjs -m proxies.js DIRECTORY
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

const proxy = (bus, name, path, kind) => {
    const [, bytes] = Gio.File.new_for_path(`${ARGV[0]}/${kind}.xml`).load_contents(null);
    const Class = Gio.DBusProxy.makeProxyWrapper(new TextDecoder().decode(bytes));
    return new Class(bus, name, path);
};
const check = (isTrue, what) => {
    if (!isTrue) throw new Error(what);
};

const [BROKER, READER] = ['org.jostle.Broker1', 'org.jostle.Sensors1'];
const bus = Gio.DBus.session;
proxy(bus, 'org.freedesktop.DBus', '/org/jostle/Receiver1', 'org.jostle.Receiver1');
const [path] = proxy(bus, BROKER, '/org/jostle/Broker1', BROKER).RegisterSync('', {});
const app = proxy(bus, BROKER, path, `${BROKER}.App`);
const [effective] = app.AddDetectorSync('one', {preset: GLib.Variant.new_string('shake.planar')});
check(effective.preset.unpack() === 'shake.planar', 'the detector is another');
check(proxy(bus, READER, '/org/jostle/Sensors1', READER).ListSensorsSync({})[0].length > 0, 'there is no sensor');
const sensor = proxy(bus, READER, '/org/jostle/Sensors1/accelerometer', `${READER}.Sensor`);
const [, inForce] = sensor.OpenStreamSync({rate: GLib.Variant.new_double(10)});
check(inForce.rate.unpack() === 10, 'the rate is another');
print('GJS: ok');
