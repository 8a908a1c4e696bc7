// BrokerCore
