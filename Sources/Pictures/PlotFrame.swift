/// The marks of axes, as text beside a drawing that is stretched.
enum PlotFrame {
    /// Marks along the bottom.
    static func writeTicks(of axis: Axis, to page: inout Markup) {
        for tick in axis.ticks {
            let place = axis.place(tick.value)
            let edge = place < 0.04 ? " first" : place > 0.96 ? " last" : ""
            page.element(
                "span", [("class", "tick\(edge)"), ("style", "left:\(Digits.text(place * 100, atMost: 2))%")], tick.text
            )
        }
    }

    /// Marks up the left side.
    static func writeLevels(of axis: Axis, to page: inout Markup) {
        for tick in axis.ticks {
            let place = Digits.text((1 - axis.place(tick.value)) * 100, atMost: 2)
            page.element("span", [("class", "level"), ("style", "top:\(place)%")], tick.text)
        }
    }
}
