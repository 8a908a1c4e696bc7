import Testing

@testable import jostle

/// Who hears a shake where, as the article has it.
@Suite struct BackgroundStoryTests {
    private typealias Story = BackgroundStory

    /// The story as it is meant to come out.
    private var meant: Story {
        var story = Story()
        for place in Story.Place.allCases {
            for shake in Story.shakes {
                for app in Story.apps {
                    for detector in app.detectors where Story.isMeant(detector, at: app, in: place, during: shake) {
                        story.arrived(detector, at: app, in: place, during: shake)
                    }
                }
            }
        }
        return story
    }

    @Test func oneEventTooManyOrTooFewIsADifference() {
        #expect(self.meant.differences().isEmpty)
        var story = self.meant
        story.arrived("system.shake", at: Story.apps[2], in: .background, during: Story.shakes[0])
        #expect(
            story.differences() == [
                "background, gentle shake: the gentle app, playing got an event from system.shake"
            ])
        #expect(Story().differences(in: [.both]).count == 3)
    }

    /// The article's findings, one line each.
    @Test func theArticlesFindings() {
        let (gentle, hard) = (Story.shakes[0], Story.shakes[1])
        func hear(_ place: Story.Place, _ shake: DemoStory.Shake, _ detector: String) -> [String] {
            Story.apps.filter {
                Story.isMeant(detector, at: $0, in: place, during: shake) && $0.detectors.contains(detector)
            }
            .map(\.title)
        }
        for place in [Story.Place.background, .locked, .both] {
            #expect(hear(place, gentle, "shake.planar") == ["gentle app, playing"])
            #expect(hear(place, hard, "shake.planar") == ["gentle app, playing", "hard app, playing"])
        }
        #expect(hear(.background, hard, "system.shake") == ["app in front"])
        #expect(hear(.locked, hard, "system.shake") == [])
        #expect(hear(.both, hard, "system.shake") == [])
    }

    /// With windows, of which one is in front at a time.
    @Test func withWindowsOneIsInFrontAtMost() {
        let story = Story.desktop
        let (first, second) = ("gentle app, no right", "gentle app, playing")
        let expected = [([first, second], [first]), ([second], [second]), ([second], []), ([second], [])]
        for (place, (own, system)) in zip(story.places, expected) {
            for (detector, titles) in [("shake.planar", own), ("system.shake", system)] {
                let heard = story.apps.filter { Story.isMeant(detector, at: $0, in: place, during: Story.shakes[0]) }
                #expect(heard.map(\.title) == titles, "\(place.name), \(detector)")
            }
        }
        #expect(story.differences().count == 14)
    }
}
