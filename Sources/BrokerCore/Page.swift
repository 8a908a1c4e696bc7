extension Sequence {
    /// The first `count` elements in an order, for one page of a long list. Looks at each, and sorts only what it returns.
    @inlinable package func first(_ count: Int, by isBefore: (Element, Element) -> Bool) -> [Element] {
        var page: [Element] = []
        for element in self {
            if page.count >= count {
                guard let last = page.last, isBefore(element, last) else { continue }
                page.removeLast()
            }
            var (low, high) = (0, page.count)
            while low < high {
                let middle = (low + high) / 2
                if isBefore(element, page[middle]) { high = middle } else { low = middle + 1 }
            }
            page.insert(element, at: low)
        }
        return page
    }
}
