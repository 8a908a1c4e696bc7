// The structures that the interface files name, for code that qdbusxml2cpp makes. C++17.
#ifndef JOSTLE_TYPES_H
#define JOSTLE_TYPES_H

#include <QtDBus>

struct JostleEvent { qulonglong sequence, epoch, time; QString detector; double peak; QVariantMap further; };
struct JostleGap { qulonglong first, last; QVariantMap reasons; };
struct JostleMark { qulonglong sequence; QVariantMap further; };
struct JostleSamples { qulonglong first; QList<qulonglong> times; QList<double> values; };
struct JostleNamedOptions { QString name; QVariantMap options; };
struct JostleObject { QDBusObjectPath object; QVariantMap description; };
struct JostleTask { QString app, identifier, kind, state; QVariantMap details; };
struct JostleOwnTask { QString identifier, kind, state; QVariantMap details; };
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
JOSTLE_STRUCTURE(JostleObject, object, description)
JOSTLE_STRUCTURE(JostleTask, app, identifier, kind, state, details)
JOSTLE_STRUCTURE(JostleOwnTask, identifier, kind, state, details)
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
    qDBusRegisterMetaType<JostleObject>();
    qDBusRegisterMetaType<JostleTask>();
    qDBusRegisterMetaType<JostleOwnTask>();
    qDBusRegisterMetaType<JostleClaim>();
    qDBusRegisterMetaType<QList<JostleEvent>>();
    qDBusRegisterMetaType<QList<JostleNamedOptions>>();
    qDBusRegisterMetaType<QList<JostleObject>>();
    qDBusRegisterMetaType<QList<JostleTask>>();
    qDBusRegisterMetaType<QList<JostleOwnTask>>();
    qDBusRegisterMetaType<QList<JostleClaim>>();
}

#endif
