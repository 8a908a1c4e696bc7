/// What somebody is told of: a side of something that has a number.
package struct NewsSubject: Hashable, Sendable {
    fileprivate let number: UInt64
    private let side: String

    package init(_ number: UInt64, _ side: String) {
        self.number = number
        self.side = side
    }
}

/// Keeps what somebody is to be told of how things stand: of each subject only the newest, in the order in which that came.
///
/// So what is told is always a part of what happened, in its order, and there is never more of it than there are subjects.
struct HeldNews<News> {
    private var news: [NewsSubject: (place: UInt64, news: News)] = [:]
    private var lastPlace: UInt64 = 0

    mutating func add(_ news: News, about subject: NewsSubject) {
        self.lastPlace += 1
        self.news[subject] = (self.lastPlace, news)
    }

    /// What came before all the rest.
    var first: (subject: NewsSubject, news: News)? {
        self.news.min { $0.value.place < $1.value.place }.map { ($0.key, $0.value.news) }
    }

    /// It is told, or nothing to tell any more.
    mutating func remove(_ subject: NewsSubject) { self.news[subject] = nil }

    /// What has this number is over.
    mutating func forget(_ number: UInt64) {
        for subject in self.news.keys where subject.number == number { self.news[subject] = nil }
    }

    mutating func forgetAll() { self.news = [:] }
}
