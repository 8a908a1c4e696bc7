/// A page that needs nothing else: no network, no script, no file beside it.
///
/// It is for light and dark, for narrow and wide, for paper, the keyboard and a screen reader.
package struct Page: Sendable {
    private let title: String
    private let lead: String
    private var sections: [(id: String, title: String, body: Markup)] = []

    /// - Parameter lead: What stands below the title, in a sentence or two.
    package init(title: String, lead: String = "") {
        self.title = title
        self.lead = lead
    }

    /// Adds a section, which the list at the beginning leads to.
    package mutating func section(_ title: String, _ body: (inout Markup) -> Void) {
        var markup = Markup()
        body(&markup)
        self.sections.append((id: "s\(self.sections.count + 1)", title: title, body: markup))
    }

    package var html: String {
        var page = Markup()
        page.literal("<!DOCTYPE html>\n")
        page.element("html", [("lang", "en")]) { page in
            page.element("head") { self.writeHead(to: &$0) }
            page.line()
            page.element("body") { page in
                page.element("a", [("class", "skip"), ("href", "#main")], "To the content")
                self.writeHeader(to: &page)
                page.element("main", [("id", "main")]) { page in
                    for section in self.sections {
                        page.element("section", [("aria-labelledby", section.id)]) { page in
                            page.element("h2", [("id", section.id)], section.title)
                            page.add(section.body)
                        }
                        page.line()
                    }
                }
            }
        }
        page.line()
        return page.html
    }

    private func writeHead(to page: inout Markup) {
        page.empty("meta", [("charset", "utf-8")])
        page.element("title", self.title)
        page.empty("meta", [("name", "viewport"), ("content", "width=device-width, initial-scale=1")])
        page.empty("meta", [("name", "color-scheme"), ("content", "light dark")])
        // Whatever somebody's name might turn into: nothing is fetched, nothing runs, nothing is sent.
        page.empty(
            "meta",
            [
                ("http-equiv", "Content-Security-Policy"),
                (
                    "content",
                    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
                ),
            ])
        page.empty("link", [("rel", "icon"), ("href", "data:,")])
        page.element("style") { $0.literal(PageStyle.text) }
    }

    private func writeHeader(to page: inout Markup) {
        page.element("header") { page in
            page.element("h1", self.title)
            if !self.lead.isEmpty { page.element("p", [("class", "lead")], self.lead) }
            guard self.sections.count > 1 else { return }
            page.element("nav", [("aria-label", "Sections")]) { page in
                page.element("ul") { page in
                    for section in self.sections {
                        page.element("li") { $0.element("a", [("href", "#\(section.id)")], section.title) }
                    }
                }
            }
        }
        page.line()
    }
}

extension Markup {
    /// A few numbers that say how it was, side by side.
    package mutating func figures(_ all: [(value: String, meaning: String, tone: Tone)]) {
        self.element("dl", [("class", "figures")]) { page in
            for one in all {
                page.element("div", [("class", one.tone.name)]) { page in
                    page.element("dt", one.meaning)
                    page.element("dd", one.value)
                }
            }
        }
        self.line()
    }

    package mutating func paragraph(_ text: String, class name: String? = nil) {
        self.element("p", [("class", name)], text)
        self.line()
    }

    /// A command for people to type.
    package mutating func command(_ text: String) { self.element("code", [("class", "command")], text) }

    /// What the colours of a picture mean.
    package mutating func key(_ all: [(tone: Tone, meaning: String)]) {
        guard !all.isEmpty else { return }
        self.element("ul", [("class", "key")]) { page in
            for one in all {
                page.element("li") { page in
                    page.element("span", [("class", "swatch \(one.tone.name)"), ("aria-hidden", "true")]) { _ in }
                    page.add(one.meaning)
                }
            }
        }
    }
}
