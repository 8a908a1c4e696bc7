// SensorCore
