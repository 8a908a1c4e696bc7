/// Which Jostle this is.
package enum Version {
    /// What `--version` prints and the daemons' `Version` properties say.
    package static let text = "0.1.0"
}
