/// The questions to a journal that give the numbers of a report, so that everybody can ask them again.
struct ReportQuestions {
    let since: Int64
    let until: Int64
    let hasChanges: Bool
    let hasClips: Bool
    /// A broker may still be at work on the journal.
    let isInUse: Bool

    private var time: String { "wall >= \(self.since) AND wall < \(self.until)" }

    var totals: String {
        var text = """
            SELECT 'verdicts', count(*) FROM verdict WHERE \(self.time)
            UNION ALL SELECT 'events', coalesce(sum(delivered), 0) FROM verdict WHERE \(self.time)
            UNION ALL SELECT 'refusals', coalesce(sum(NOT delivered), 0) FROM verdict WHERE \(self.time)
            UNION ALL SELECT 'apps', count(*) FROM (SELECT DISTINCT app, user FROM verdict WHERE \(self.time))
            """
        if self.hasChanges {
            text += """

                UNION ALL SELECT 'launches', count(*) FROM change WHERE kind = 'launch' AND \(self.time)
                """
        }
        if self.hasClips {
            text += """

                UNION ALL SELECT 'near misses', count(*) FROM moment WHERE near AND \(self.time)
                """
        }
        return text
    }

    var nearKinds: String {
        """
        SELECT app, user, detector, threshold, count(*), max(wall) FROM moment WHERE near AND \(self.time)
        GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT \(DayPage.topApps)
        """
    }

    // MARK: Parts of the time

    /// In which part of the time a row is, and when a part begins.
    private var part: String {
        let share = "CAST(wall - \(self.since) AS REAL) / \(self.until - self.since) * \(DayDigest.partCount)"
        return "min(\(DayDigest.partCount - 1), CAST(\(share) AS INTEGER)) AS part"
    }
    private var start: String {
        "\(self.since) + CAST(\(self.until - self.since).0 * part / \(DayDigest.partCount) AS INTEGER)"
    }

    /// The same, without the journal.
    func start(ofPart index: Int) -> Int64 {
        self.since + Int64(Double(self.until - self.since) * Double(index) / Double(DayDigest.partCount))
    }

    var parts: String {
        """
        SELECT \(self.start), count(*), sum(delivered), min(epoch), max(epoch), 'jostle explain ' || max(epoch) FROM (
            SELECT \(self.part), delivered, epoch FROM verdict WHERE \(self.time))
        GROUP BY part ORDER BY part
        """
    }

    var nearParts: String {
        """
        SELECT \(self.start), count(*), 'jostle explain --clip ' || max(clip) FROM (
            SELECT \(self.part), clip FROM moment WHERE near AND \(self.time))
        GROUP BY part ORDER BY part
        """
    }

    // MARK: Verdicts

    var causes: String {
        """
        SELECT reason, coalesce(rule, ''), coalesce(place, ''), count(*) FROM verdict WHERE \(self.time)
        GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT \(DayPage.topCauses)
        """
    }

    var apps: String {
        """
        SELECT app, user, count(*), sum(delivered), sum(NOT delivered) FROM verdict WHERE \(self.time)
        GROUP BY app, user ORDER BY 3 DESC, 1, 2 LIMIT \(DayPage.topApps)
        """
    }

    var refusals: String {
        """
        SELECT app, user, reason, count(*) FROM verdict WHERE NOT delivered AND \(self.time)
        GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT \(DayPage.topApps)
        """
    }

    var sent: String {
        """
        SELECT app, sum(sent), sum(NOT sent) FROM event WHERE \(self.time)
        GROUP BY app ORDER BY 2 DESC, 3 DESC, 1 LIMIT \(DayPage.topApps)
        """
    }

    var launches: String {
        """
        SELECT app, user, value, count(*) FROM change WHERE kind = 'launch' AND \(self.time)
        GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT \(DayPage.topApps)
        """
    }

    /// Until when what a broker noted last held: of one that is at work until now, of others until the last that they noted.
    private var end: String {
        let last = "(SELECT max(wall) FROM noted n WHERE n.run = noted.run)"
        guard self.isInUse else { return last }
        return """
            CASE WHEN run < (SELECT max(run) FROM noted)
                OR EXISTS (SELECT 1 FROM noted n WHERE n.run = noted.run AND n.kind = 'end')
            THEN \(last) ELSE \(self.until) END
            """
    }

    /// What held, and from when to when within the time: until the next of its kind, or until its broker ended.
    private var spans: String {
        """
        WITH noted AS (SELECT * FROM change WHERE wall < \(self.until)),
        span AS (SELECT run, kind, app, user, value, rate, count, max(wall, \(self.since)) AS since,
            min(\(self.until), coalesce(lead(wall) OVER (
                PARTITION BY run, kind, app, user, CASE WHEN kind IN ('asks', 'sensor') THEN value END ORDER BY id),
            \(self.end))) AS until
            FROM noted)

        """
    }

    var device: String {
        self.spans + """
            SELECT kind, value, sum(until - since) / 1e6, count(*) FROM span
            WHERE kind IN ('lock', 'foreground', 'power', 'sleep', 'motion') AND since < until
            GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2
            """
    }

    var states: String {
        self.spans + """
            SELECT app, user, value, sum(until - since) / 1e6, count(*) FROM span WHERE kind = 'state' AND since < until
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3 LIMIT \(DayPage.topApps)
            """
    }

    var sensors: String {
        self.spans + """
            SELECT sensor, max(rate), sum(seconds), sum(lost), sum(gaps) FROM (
                SELECT value AS sensor, rate, (until - since) / 1e6 AS seconds, 0 AS lost, 0 AS gaps FROM span
                WHERE kind = 'sensor' AND rate > 0 AND since < until
                UNION ALL SELECT value, 0, 0, CASE kind WHEN 'lost' THEN count ELSE 0 END,
                    CASE kind WHEN 'gaps' THEN count ELSE 0 END FROM noted
                WHERE kind IN ('lost', 'gaps') AND \(self.time))
            GROUP BY 1 ORDER BY 1
            """
    }

    var needs: String {
        self.spans + """
            SELECT a.app, a.user, a.value, max(a.rate),
                coalesce(sum(a.count * max(0, min(a.until, s.until) - max(a.since, s.since))), 0) / 1e6,
                coalesce(sum(max(0, min(a.until, s.until) - max(a.since, s.since))), 0) / 1e6
            FROM span a LEFT JOIN span s ON s.kind = 'sensor' AND s.value = a.value AND s.run = a.run AND s.rate > 0
                AND s.since < s.until
            WHERE a.kind = 'asks' AND a.rate > 0 AND a.since < a.until
            GROUP BY 1, 2, 3 ORDER BY 6 DESC, 5 DESC, 1, 2, 3 LIMIT \(DayPage.topApps)
            """
    }
}
