// The structures that the interface files name, for code that qdbusxml2cpp makes. C++17.
#ifndef JOSTLE_TYPES_H
#define JOSTLE_TYPES_H

#include <QtDBus>

struct JostleEvent { qulonglong sequence, epoch, time; QString detector; double peak; QVariantMap further; };
struct JostleGap { qulonglong first, last; QVariantMap reasons; };
struct JostleMark { qulonglong sequence; QVariantMap further; };
struct JostleSamples { qulonglong first; QList<qulonglong> times; QList<double> values; };
struct JostleNamedOptions { QString name; QVariantMap options; };
struct JostleSensor { QDBusObjectPath object; QVariantMap description; };
struct JostleApp {
    QDBusObjectPath object;
    QString id, state;
    uint detectors;
    qulonglong hits, delivered, denied, dropped;
};
struct JostleTask { QString app, identifier, kind, state; QVariantMap details; };
struct JostleOwnTask { QString identifier, kind, state; QVariantMap details; };
struct JostleTaskOutcome { QString identifier; uint attempt; QString end; qulonglong began, ended; };
struct JostleSession { QString category, state; double share; bool isSilenced; };
struct JostleAssertion { QString name; qulonglong remaining; };
struct JostleClaim { QString claimant; double rate; qulonglong latency, sent, missed; QVariantMap further; };

// A structure's fields in their order, which are what travels.
#define JOSTLE_STRUCTURE(Type, ...) \
    Q_DECLARE_METATYPE(Type) \
    inline QDBusArgument &operator<<(QDBusArgument &argument, const Type &value) { \
        const auto &[__VA_ARGS__] = value; \
        argument.beginStructure(); \
        jostleWrite(argument, __VA_ARGS__); \
        argument.endStructure(); \
        return argument; \
    } \
    inline const QDBusArgument &operator>>(const QDBusArgument &argument, Type &value) { \
        auto &[__VA_ARGS__] = value; \
        argument.beginStructure(); \
        jostleRead(argument, __VA_ARGS__); \
        argument.endStructure(); \
        return argument; \
    }

template <class... Field> void jostleWrite(QDBusArgument &argument, const Field &...field) { (argument << ... << field); }
template <class... Field> void jostleRead(const QDBusArgument &argument, Field &...field) { (argument >> ... >> field); }

JOSTLE_STRUCTURE(JostleEvent, sequence, epoch, time, detector, peak, further)
JOSTLE_STRUCTURE(JostleGap, first, last, reasons)
JOSTLE_STRUCTURE(JostleMark, sequence, further)
JOSTLE_STRUCTURE(JostleSamples, first, times, values)
JOSTLE_STRUCTURE(JostleNamedOptions, name, options)
JOSTLE_STRUCTURE(JostleSensor, object, description)
JOSTLE_STRUCTURE(JostleApp, object, id, state, detectors, hits, delivered, denied, dropped)
JOSTLE_STRUCTURE(JostleTask, app, identifier, kind, state, details)
JOSTLE_STRUCTURE(JostleOwnTask, identifier, kind, state, details)
JOSTLE_STRUCTURE(JostleTaskOutcome, identifier, attempt, end, began, ended)
JOSTLE_STRUCTURE(JostleSession, category, state, share, isSilenced)
JOSTLE_STRUCTURE(JostleAssertion, name, remaining)
JOSTLE_STRUCTURE(JostleClaim, claimant, rate, latency, sent, missed, further)

// Says to QtDBus what these are; before anything is called.
inline void registerJostleTypes() {
    qDBusRegisterMetaType<QMap<QString, qulonglong>>();
    qDBusRegisterMetaType<QList<QVariantMap>>();
    qDBusRegisterMetaType<JostleEvent>();
    qDBusRegisterMetaType<JostleGap>();
    qDBusRegisterMetaType<JostleMark>();
    qDBusRegisterMetaType<JostleSamples>();
    qDBusRegisterMetaType<JostleNamedOptions>();
    qDBusRegisterMetaType<JostleSensor>();
    qDBusRegisterMetaType<JostleApp>();
    qDBusRegisterMetaType<JostleTask>();
    qDBusRegisterMetaType<JostleOwnTask>();
    qDBusRegisterMetaType<JostleTaskOutcome>();
    qDBusRegisterMetaType<JostleSession>();
    qDBusRegisterMetaType<JostleAssertion>();
    qDBusRegisterMetaType<JostleClaim>();
    qDBusRegisterMetaType<QList<JostleEvent>>();
    qDBusRegisterMetaType<QList<JostleNamedOptions>>();
    qDBusRegisterMetaType<QList<JostleSensor>>();
    qDBusRegisterMetaType<QList<JostleApp>>();
    qDBusRegisterMetaType<QList<JostleTask>>();
    qDBusRegisterMetaType<QList<JostleOwnTask>>();
    qDBusRegisterMetaType<QList<JostleTaskOutcome>>();
    qDBusRegisterMetaType<QList<JostleSession>>();
    qDBusRegisterMetaType<QList<JostleAssertion>>();
    qDBusRegisterMetaType<QList<JostleClaim>>();
}

#endif
