// Prints shakes, with QtDBus, and goes on when the broker is started anew.
#include <QCoreApplication>
#include <QDBusServiceWatcher>
#include <cstdio>
#include <memory>

#include "Broker1.App.h"
#include "Broker1.h"

// The app's id, a name that it owns on the bus; "": an app without a name.
static const QString APP = "";

int main(int count, char **arguments) {
    QCoreApplication program(count, arguments);
    registerJostleTypes();
    setlinebuf(stdout);
    const QString name = "org.jostle.Broker1";
    auto bus = QDBusConnection::sessionBus();
    if (!APP.isEmpty() && !bus.registerService(APP)) qFatal("watch: another program has the name %s", qPrintable(APP));
    std::unique_ptr<OrgJostleBroker1AppInterface> app;

    auto heard = [&](const JostleEvent &event) {
        printf("event %llu: %s, peak %.2f\n", event.sequence, qPrintable(event.detector), event.peak);
        // Only some events want an answer; the others do not mind one.
        app->Ack(event.sequence, event.epoch, "consume", {});
    };
    auto join = [&] {
        OrgJostleBroker1Interface broker(name, "/org/jostle/Broker1", bus);
        auto registered = broker.Register(APP, {});
        registered.waitForFinished();
        if (registered.isError()) return qWarning("watch: %s", qPrintable(registered.error().message()));
        // By the unique name: anybody can send a signal, only the broker's counts.
        const QString owner = registered.reply().service();
        app = std::make_unique<OrgJostleBroker1AppInterface>(owner, registered.argumentAt<0>().path(), bus);
        QObject::connect(app.get(), &OrgJostleBroker1AppInterface::Event, heard);
        auto added = app->AddDetector("watch", {{"preset", "shake.planar"}, {"threshold", "2.5g"}});
        added.waitForFinished();
        if (added.isError()) qWarning("watch: %s", qPrintable(added.error().message()));
    };
    QDBusServiceWatcher watcher(name, bus, QDBusServiceWatcher::WatchForRegistration);
    QObject::connect(&watcher, &QDBusServiceWatcher::serviceRegistered, join);
    join();
    return program.exec();
}
