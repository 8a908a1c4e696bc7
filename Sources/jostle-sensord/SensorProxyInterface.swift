import DBus
import SensorCore

/// The interfaces `net.hadess.SensorProxy` and `net.hadess.SensorProxy.Compass`. Only claimants are told of changes.
enum SensorProxyInterface {
    static let name: StaticString = "net.hadess.SensorProxy"
    static let compassName: StaticString = "net.hadess.SensorProxy.Compass"

    static let table = Interface<SensorProxy>(
        name,
        methods: claims("ClaimAccelerometer", "ReleaseAccelerometer", .accelerometer)
            + claims("ClaimLight", "ReleaseLight", .light) + claims("ClaimProximity", "ReleaseProximity", .proximity),
        properties: [
            Property("HasAccelerometer", .always) { (proxy: SensorProxy) in proxy.state.isThere(.accelerometer) },
            reading("AccelerometerOrientation", .accelerometer) { $0.orientation.rawValue },
            reading("AccelerometerTilt", .accelerometer) { $0.tilt.rawValue },
            Property("HasAmbientLight", .always) { (proxy: SensorProxy) in proxy.state.isThere(.light) },
            reading("LightLevelUnit", .light) { $0.lightUnit.rawValue },
            reading("LightLevel", .light) { $0.lightLevel },
            Property("HasProximity", .always) { (proxy: SensorProxy) in proxy.state.isThere(.proximity) },
            reading("ProximityNear", .proximity) { $0.isNear },
        ])

    static let compassTable = Interface<SensorProxy>(
        compassName,
        methods: claims("ClaimCompass", "ReleaseCompass", .compass),
        properties: [
            Property("HasCompass", .always) { (proxy: SensorProxy) in proxy.state.isThere(.compass) },
            reading("CompassHeading", .compass) { $0.heading },
        ])

    /// What a sensor shows. Who is not to know it reads what there is to know of a sensor that was never read.
    private static func reading<T: WireValue & Sendable>(
        _ name: StaticString, _ sensor: ProxySensor, _ value: @escaping @Sendable (ProxyState) -> T
    ) -> Property<SensorProxy> {
        Property(name, .always, others: value(ProxyState())) { proxy, call, answer in
            proxy.mayRead(sensor, call, answer)
        } get: { proxy in
            value(proxy.state)
        }
    }

    private static func claims(
        _ claim: StaticString, _ release: StaticString, _ sensor: ProxySensor
    ) -> [Method<SensorProxy>] {
        [
            Method(later: claim) { (proxy: SensorProxy, call: MethodCall) throws(BusError) in
                try proxy.claim(sensor, call)
            },
            Method(release) { (proxy: SensorProxy, call: MethodCall) throws(BusError) in
                proxy.release(sensor, call)
            },
        ]
    }

    static func value(of property: ProxyProperty, _ state: ProxyState) -> Value {
        switch property {
        case .hasAccelerometer: .boolean(state.isThere(.accelerometer))
        case .orientation: .string(state.orientation.rawValue)
        case .tilt: .string(state.tilt.rawValue)
        case .hasLight: .boolean(state.isThere(.light))
        case .lightUnit: .string(state.lightUnit.rawValue)
        case .lightLevel: .double(state.lightLevel)
        case .hasProximity: .boolean(state.isThere(.proximity))
        case .isNear: .boolean(state.isNear)
        case .hasCompass: .boolean(state.isThere(.compass))
        case .heading: .double(state.heading)
        }
    }
}

extension ProxyProperty {
    var name: String {
        switch self {
        case .hasAccelerometer: "HasAccelerometer"
        case .orientation: "AccelerometerOrientation"
        case .tilt: "AccelerometerTilt"
        case .hasLight: "HasAmbientLight"
        case .lightUnit: "LightLevelUnit"
        case .lightLevel: "LightLevel"
        case .hasProximity: "HasProximity"
        case .isNear: "ProximityNear"
        case .hasCompass: "HasCompass"
        case .heading: "CompassHeading"
        }
    }
}
