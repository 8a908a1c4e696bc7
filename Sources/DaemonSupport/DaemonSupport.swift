// DaemonSupport
